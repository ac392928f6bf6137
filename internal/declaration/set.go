package declaration

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/document"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/provisioning/poolfile"
)

// Options say how files are read.
type Options struct {
	ProjectRegion string // of projects whose file names none
	RequireFrom   bool   // see ParseProfile
}

// Set is what files declare together.
type Set struct {
	Profiles    []Profile
	poolSources []poolSource

	appPlaces, poolPlaces, projectPlaces []place // of each item of the declaration
	declaration                          db.Declaration
	problems                             []string
}

// poolSource is a file with app versions, pools or projects.
type poolSource struct {
	file *poolfile.File

	name string
}

// place is where an item of a declaration stands: in which file, at which index of its list.
type place struct{ fileIndex, itemIndex int }

// Parse parses files. Read the problems of the set before anything else of it.
func Parse(sources []Source, options Options) *Set {
	s := &Set{}
	for _, source := range sources {
		switch kindOf(source.Text) {
		case poolFile:
			s.addPools(source, options)
		case profileFile:
			s.addProfile(ParseProfile(source, options.RequireFrom))
		case unknownFile:
			s.addProblem(source.File, document.Problem{Line: 1, Column: 1,
				Text: "this is neither a profile, which has a name and teams, nor does it have apps, pools or " +
					"projects"})
		}
	}
	// What a file with problems declares is not known: others that refer to it are not at fault.
	if len(s.problems) == 0 {
		s.checkTogether()
	}
	return s
}

// Problems lists what is wrong as FILE:LINE:COLUMN: PATH: TEXT, which editors understand; none: the files are valid.
func (s *Set) Problems() []string { return s.problems }

// Declaration returns what a set without problems declares.
func (s *Set) Declaration() db.Declaration { return s.declaration }

// Prune returns the kinds that may be pruned: those of which the files declare something, or an empty list.
func (s *Set) Prune() db.Prune {
	// A profile is a whole file, so that no empty list can say that there are none.
	prune := db.Prune{Profiles: len(s.Profiles) > 0}
	for _, f := range s.poolSources {
		prune.Apps = prune.Apps || f.file.Declares("apps")
		prune.Pools = prune.Pools || f.file.Declares("pools")
		prune.Projects = prune.Projects || f.file.Declares("projects")
	}
	return prune
}

func (s *Set) addProblem(file string, p document.Problem) {
	s.problems = append(s.problems, p.InFile(file))
}

func (s *Set) addProfile(p Profile) {
	for _, problem := range p.Problems {
		s.addProblem(p.Source.File, problem)
	}
	// Also one that has problems, so that profiles have the same indexes here and in the declaration.
	s.Profiles = append(s.Profiles, p)
	s.declaration.Profiles = append(s.declaration.Profiles, db.DeclaredProfile{Document: p.Source.Text})
}

func (s *Set) addPools(source Source, options Options) {
	f, err := poolfile.Parse(source.Text)
	if refused, ok := errors.AsType[*poolfile.Error](err); ok {
		for _, problem := range refused.Problems {
			s.addProblem(source.File, problem)
		}
		return
	}
	file := len(s.poolSources)
	s.poolSources = append(s.poolSources, poolSource{f, source.File})
	for i, v := range f.Apps {
		s.appPlaces = append(s.appPlaces, place{file, i})
		s.declaration.AppVersions = append(s.declaration.AppVersions, v)
	}
	for i, p := range f.Pools {
		s.poolPlaces = append(s.poolPlaces, place{file, i})
		s.declaration.Pools = append(s.declaration.Pools, p)
	}
	for i, p := range f.Projects {
		s.projectPlaces = append(s.projectPlaces, place{file, i})
		s.declaration.Projects = append(s.declaration.Projects, projectOf(p, options))
	}
}

// projectOf gives a project its defaults: its id as its name, and the region of the command.
func projectOf(p poolfile.Project, options Options) db.NewProject {
	n := db.NewProject{ID: p.ID, Name: p.Name, Region: p.Region}
	if n.Name == "" {
		n.Name = n.ID
	}
	if n.Region == "" {
		n.Region = options.ProjectRegion
	}
	return n
}

// checkTogether reports what is wrong between files: each was checked by itself.
func (s *Set) checkTogether() {
	// A pool may name an app version that another file declares.
	for _, p := range provision.CheckPools(s.declaration.AppVersions, s.declaration.Pools) {
		s.problems = append(s.problems, s.problemAt(p.Path, p.Text))
	}
	s.checkProfiles()
	s.checkProjects()
}

// checkProfiles reports names that two files declare.
func (s *Set) checkProfiles() {
	files := map[string]string{}
	// None is without a Profile: checkTogether is called only where no file has problems.
	for i, p := range s.Profiles {
		if first, isTwice := files[p.Profile.Name]; isTwice {
			s.problems = append(s.problems, s.problemAt(fmt.Sprintf("profiles[%d].name", i),
				fmt.Sprintf("profile %s is declared in %s as well", p.Profile.Name, first)))
		}
		files[p.Profile.Name] = p.Source.File
	}
}

// checkProjects reports projects that two files declare, or that the database would refuse with their defaults.
func (s *Set) checkProjects() {
	files := map[string]string{}
	for i, p := range s.declaration.Projects {
		if err := p.Check(); err != nil {
			s.problems = append(s.problems, s.locatedError(fmt.Sprintf("projects[%d]", i), err))
		}
		if first, isTwice := files[p.ID]; isTwice {
			s.problems = append(s.problems, s.problemAt(fmt.Sprintf("projects[%d].id", i),
				fmt.Sprintf("project %s is declared in %s as well", p.ID, first)))
		}
		files[p.ID] = s.FileOf("projects", i)
	}
}

// locatedError describes an error of an item where the field that it names stands in its file.
func (s *Set) locatedError(path string, err error) string {
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return err.Error()
	}
	return s.problemAt(path+"."+refused.Field, refused.Detail)
}

// Locate returns an error of [db.Store.Declare] that names a value with the place of the value in its file. Other
// errors stay as they are.
func (s *Set) Locate(err error) error {
	var refused *fault.Error
	if !errors.As(err, &refused) || !itemPath.MatchString(refused.Field) {
		return err
	}
	return errors.New(s.problemAt(refused.Field, refused.Detail))
}

// itemPath is the path of a value of a declaration.
var itemPath = regexp.MustCompile(`^(profiles|apps|pools|projects)\[(\d+)\](.*)$`)

// problemAt describes a problem of a value of the declaration where it stands in its file.
func (s *Set) problemAt(path, text string) string {
	m := itemPath.FindStringSubmatch(path)
	if m == nil {
		return text
	}
	list, rest := m[1], m[3]
	// Only a number that no int holds fails: the pattern has digits alone.
	i, err := strconv.Atoi(m[2])
	if err != nil {
		return text
	}
	// A profile is a file of its own: its path begins at the top of it.
	if list == "profiles" {
		return s.Profiles[i].problemAt(rest, text)
	}
	// The item has another index in its file than among those of all files.
	at := s.placesOf(list)[i]
	f := s.poolSources[at.fileIndex]
	return f.file.ProblemAt(fmt.Sprintf("%s[%d]%s", list, at.itemIndex, rest), text).InFile(f.name)
}

func (s *Set) placesOf(list string) []place {
	switch list {
	case "apps":
		return s.appPlaces
	case "pools":
		return s.poolPlaces
	}
	return s.projectPlaces
}

// FileOf returns the file of an item of the declaration: of "profiles", "apps", "pools" or "projects".
func (s *Set) FileOf(list string, i int) string {
	if list == "profiles" {
		return s.Profiles[i].Source.File
	}
	return s.poolSources[s.placesOf(list)[i].fileIndex].name
}

// problemAt describes a problem of a value of the profile; path begins with a dot, or is empty.
func (p *Profile) problemAt(path, text string) string {
	return positionsOf(p.Source.Text).ProblemAt(strings.TrimPrefix(path, "."), text).InFile(p.Source.File)
}
