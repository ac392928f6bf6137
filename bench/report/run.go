package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

func (r Run) name() string { return cmp.Or(r.Name, r.Scenario) }

// rate is the requested rate of an open loop; 0 for a closed one.
func (r Run) rate() float64 {
	if r.Open == nil {
		return 0
	}
	return r.Open.Rate
}

func (r Run) pace() string {
	if r.Open == nil {
		return "closed loop"
	}
	return Short(r.rate()) + "/s"
}

func distinct[T cmp.Ordered](runs []Run, of func(Run) T) []T {
	seen := map[T]bool{}
	for _, r := range runs {
		seen[of(r)] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// apart names runs by the properties in which they differ.
func apart(runs []Run) []string {
	parts := []func(Run) string{
		Run.name,
		func(r Run) string { return counted(r.Callers, "caller") },
		func(r Run) string { return counted(r.Instances, "game server") },
		Run.pace,
	}
	parts = slices.DeleteFunc(parts, func(part func(Run) string) bool { return len(distinct(runs, part)) < 2 })
	if len(parts) == 0 || len(distinct(runs, Run.name)) == len(runs) { // the names differ already
		parts = []func(Run) string{Run.name}
	}
	names, times := make([]string, len(runs)), map[string]int{}
	for i, r := range runs {
		names[i] = strings.Join(texts(r, parts), ", ")
		if times[names[i]]++; times[names[i]] > 1 {
			names[i] += fmt.Sprintf(" (%d)", times[names[i]])
		}
	}
	return names
}

func texts(r Run, parts []func(Run) string) []string {
	all := make([]string, len(parts))
	for i, part := range parts {
		all[i] = part(r)
	}
	return all
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Whole(float64(n)) + " " + what + "s"
}
