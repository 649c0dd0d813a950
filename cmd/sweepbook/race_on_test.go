//go:build race

package main

// underRace: everything takes several times as long.
const underRace = true
