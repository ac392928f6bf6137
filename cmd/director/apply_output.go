package main

import (
	"fmt"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/declaration"
	"github.com/lattice-director/director/internal/provisioning/poolfile"
)

// declaredLine is the output of `apply` for one thing.
type declaredLine struct {
	Kind    string   `json:"kind"`              // profile, app, pool or project
	Name    string   `json:"name"`              // of an app APP/VERSION, of a pool REGION/APP/VERSION, of a project its id
	Change  string   `json:"change"`            // created, changed, unchanged, retired, deleted or kept
	File    string   `json:"file"`              // "" for what no file declares
	Version int      `json:"version,omitempty"` // of a profile: the one that is live
	Fields  []string `json:"fields"`            // of an app, a pool or a project that changed
	Reason  string   `json:"reason"`            // why it was kept
	Diff    string   `json:"diff"`              // in the unified format; "" where nothing changes
}

// declaredLines returns the lines of all kinds. Of each kind, what files declare comes first, in the order of the
// files.
func declaredLines(set *declaration.Set, done db.DeclarationOutcome) (lines []declaredLine) {
	for i, p := range done.Profiles {
		line := declaredLine{Kind: "profile", Name: p.Declared.Name, Change: p.Change, Version: p.Declared.Version, Reason: p.Reason}
		to, text := "nothing", ""
		// Of each kind, the outcome lists first what the files declare, in their order; what follows was pruned or
		// kept.
		if i < len(set.Profiles) {
			line.File, to, text = set.Profiles[i].Source.File, set.Profiles[i].Source.File, string(set.Profiles[i].Source.Text)
		}
		line.Diff = profileDiff(p, to, text)
		lines = append(lines, line)
	}
	declared := set.Declaration()
	for i, c := range done.Provisioned.AppChanges {
		line := provisionedLine("app", c.App+"/"+c.Version, c)
		if i < len(declared.AppVersions) {
			line.File = set.FileOf("apps", i)
		}
		was, now := textsOf(done.Provisioned.FormerState.Apps, done.Provisioned.NewState.Apps, line.Name,
			poolfile.AppText)
		lines = append(lines, line.withDiff(was, now))
	}
	for i, c := range done.Provisioned.PoolChanges {
		line := provisionedLine("pool", c.Region+"/"+c.App+"/"+c.Version, c)
		if i < len(declared.Pools) {
			line.File = set.FileOf("pools", i)
		}
		was, now := textsOf(done.Provisioned.FormerState.Pools, done.Provisioned.NewState.Pools, line.Name,
			poolfile.PoolText)
		lines = append(lines, line.withDiff(was, now))
	}
	for i, p := range done.Projects {
		line := declaredLine{Kind: "project", Name: p.ID, Change: p.Change, Reason: p.Reason}
		if i < len(declared.Projects) {
			line.File = set.FileOf("projects", i)
		}
		// now is never "", since no project is ever removed.
		was, now := "", projectText(p.Name, p.Region)
		if p.FormerName != "" {
			was = projectText(p.FormerName, p.Region)
		}
		// A project keeps its region: of an existing one, only the name can change.
		if p.Change == "changed" {
			line.Fields = []string{"name"}
		}
		lines = append(lines, line.withDiff(was, now))
	}
	return lines
}

// provisionedLine is the line of an app or a pool, without its file and its diff, which the caller adds.
func provisionedLine(kind, name string, c provision.PoolChange) declaredLine {
	return declaredLine{Kind: kind, Name: name, Change: c.Change, Fields: c.ChangedFields, Reason: c.Reason}
}

// textsOf returns an item of a map before and after a declaration as text; "" where it is not in the map.
func textsOf[T any](before, after map[string]T, name string, text func(T) string) (was, now string) {
	if item, has := before[name]; has {
		was = text(item)
	}
	if item, has := after[name]; has {
		now = text(item)
	}
	return was, now
}

// projectText is a project as a file declares it, for the diff.
func projectText(name, region string) string {
	return fmt.Sprintf("name: %s\nregion: %s\n", name, region)
}

// withDiff returns the line with the diff between two texts; "" is the text of what does not exist.
func (l declaredLine) withDiff(was, now string) declaredLine {
	from, to := l.Kind+" "+l.Name, l.File
	if was == "" {
		from = "nothing"
	}
	if now == "" {
		to = "nothing"
	}
	// What is kept is not in the files: a diff would show it as removed.
	if l.Change != "unchanged" && l.Change != "kept" {
		l.Diff = unifiedDiff(from, to, was, now)
	}
	return l
}

// countChanges counts what a run without --dry-run writes. What is kept is not written, although no file declares it.
func countChanges(lines []declaredLine) (n int) {
	for _, line := range lines {
		if line.Change != "unchanged" && line.Change != "kept" {
			n++
		}
	}
	return n
}

// writeDeclared prints the diffs of a dry run above the table, in the order of its rows.
func writeDeclared(out cli.Output, lines []declaredLine, dry bool) error {
	for i := range lines {
		lines[i].Fields = append([]string{}, lines[i].Fields...) // [] and not null, for scripts
		// As JSON, the diffs are fields of the lines.
		if dry && !out.JSON {
			fmt.Fprint(out.Writer, lines[i].Diff)
		}
	}
	return cli.Write(out.Sparing("fields", "file"), lines,
		[]string{"kind", "name", "change", "file", "fields", "reason"},
		func(l declaredLine) []any {
			return []any{l.Kind, l.Name, l.Change, l.File, l.Fields, l.Reason}
		})
}
