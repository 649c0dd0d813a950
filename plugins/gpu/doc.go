// Package gpu looks after the GPUs of this machine on behalf of runs. A server
// that keeps memory after its end, or that of somebody else, spoils every trial
// after it without a word, so each has its own answer:
//
//	another run uses the GPU        a lock a GPU, by UUID; the second run is told who holds it
//	somebody else's process does    the launch is refused with pid and name, or its trials carry a mark
//	a server ended, memory did not  the GPU is quarantined until a person or a restart of the machine lifts it
//	nobody can tell                 it is said, and never taken for clean
//
// What is known of a GPU comes from nvidia-smi under a time limit: one that hangs
// in the driver cannot hang us, and one that prints nonsense is an error.
//
// A [Guard] is what a run uses; the other types are its parts.
package gpu
