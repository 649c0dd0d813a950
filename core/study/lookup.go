package study

import "github.com/sweepbook/sweepbook/core"

// workload finds a workload of a study by name, or nil.
func workload(s *core.Study, name string) *core.NamedWorkload {
	for i := range s.Workloads {
		if s.Workloads[i].Workload.Name == name {
			return &s.Workloads[i]
		}
	}
	return nil
}

func workloadNames(s *core.Study) []string {
	var names []string
	for _, w := range s.Workloads {
		names = append(names, w.Workload.Name)
	}
	return names
}

// verified lists the workloads on which the study verifies.
func verified(s *core.Study) []core.NamedWorkload {
	var out []core.NamedWorkload
	for _, w := range s.Workloads {
		for _, name := range s.Verify.Workloads {
			if name == "all" || name == w.Workload.Name {
				out = append(out, w)
				break
			}
		}
	}
	return out
}
