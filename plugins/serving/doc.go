// Package serving holds what the adapters of real serving engines share: the
// whole of core.Engine around a [Dialect], which states how one engine spells its
// command line, what its log says and how it fails. The packages beside it
// (vllm, sglang, trtllm) are such dialects; the simulator uses the parts that
// watch a server until it is ready.
//
// The adapter owns no process. The host starts what Plan says; Launch watches the
// log, the process and the port until one real streamed completion came back.
//
//	Config --argv.go, origin.go--> Plan --host--> process and log
//	   log --report.go--> resolved settings   log --failure.go--> failure class
//
// The package also holds [Redactor], which takes secrets out of logs, command
// lines and environments before they are written anywhere.
package serving
