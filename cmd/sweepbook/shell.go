package main

import "github.com/sweepbook/sweepbook/core/tool"

func shellLine(args []string) string { return tool.ShellLine(args) }

func shellWord(s string) string { return tool.ShellWord(s) }
