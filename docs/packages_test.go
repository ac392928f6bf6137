package docs_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// sdkPackage is a package of an engine, whose reference is made of the comments in its sources.
type sdkPackage struct {
	page, title, introduction string
	sources                   string // a pattern below the root, with names in braces
	language                  language
}

var sdkPackages = []sdkPackage{
	{"sdk-csharp.md", "The C# package", "The namespace `LatticeDirector` of `sdk/csharp`", "sdk/csharp/Runtime/*.cs", csharp},
	{"sdk-godot.md", "The add-on for Godot", "The scripts of `sdk/godot`",
		"sdk/godot/addons/lattice_director/{player,ticket,sidecar,lobby,room,client}.gd", gdscript},
	{"sdk-cpp.md", "The C++ headers", "The namespace `lattice` of `sdk/cpp`",
		"sdk/cpp/include/lattice/{client,player,ticket,sidecar,lobby,error,json,transport}.hpp", cpp},
	{"sdk-ts.md", "The TypeScript package", "`sdk/ts`, which npm has as `@lattice-director/sdk`",
		"sdk/ts/src/{player,queued,token,latency,errors,types,lobby/lobby,lobby/room,lobby/events,lobby/errors,lobby/state}.ts", typescript},
}

// Pins a reference of a package that does not say what its sources say.
//
//nolint:paralleltest // with -update it writes the pages of which TestLLMs, which is parallel, reads the introductions
func TestReferencesOfPackages(t *testing.T) {
	for _, p := range sdkPackages {
		want := p.reference(t)
		file := filepath.Join(root, "docs/reference", p.page)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want, string(got), "go test ./docs -run TestReferencesOfPackages -update")
	}
}

// reference returns the page of a package.
func (p sdkPackage) reference(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	fmt.Fprintf(&page, "# %s\n\n%s, made of the comments in the sources. [Your first game](../how-to/engines.md) is the way in.\n"+
		"This page is generated, and a test checks that it is current.\n", p.title, p.introduction)
	found := 0
	for _, file := range p.files(t) {
		text := must.Get(os.ReadFile(file))(t)
		for _, s := range p.language.sections(filepath.Base(file), string(text)) {
			found += len(s.members)
			page.WriteString(s.markdown())
		}
	}
	require.Greater(t, found, 20, "the comments of %s are no longer found", p.page)
	return page.String()
}

// files returns the sources.
func (p sdkPackage) files(t *testing.T) (files []string) {
	t.Helper()
	before, rest, hasNames := strings.Cut(p.sources, "{")
	names, after, _ := strings.Cut(rest, "}")
	if !hasNames {
		return must.Get(filepath.Glob(filepath.Join(root, p.sources)))(t)
	}
	for name := range strings.SplitSeq(names, ",") {
		files = append(files, filepath.Join(root, before+name+after))
	}
	return files
}

// section is a class, or a file, with the members that have a comment.
type section struct {
	name, about string
	members     [][2]string // declaration and comment
}

func (s section) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n## %s\n\n%s\n", s.name, s.about)
	if len(s.members) > 0 {
		text.WriteString("\n| | |\n|---|---|\n")
	}
	for _, m := range s.members {
		declaration := strings.ReplaceAll(m[0], "|", "\\|")
		fmt.Fprintf(&text, "| `%s` | %s |\n", declaration, strings.ReplaceAll(m[1], "|", "\\|"))
	}
	return text.String()
}

// language says where the comments of a language are.
type language struct {
	comment  *regexp.Regexp      // a line of a comment; its group is the text
	class    *regexp.Regexp      // a declaration that begins a section; its group is the name
	member   *regexp.Regexp      // a declaration that callers see; its group is what is shown
	hidden   [][2]*regexp.Regexp // lines between which nothing is for callers
	isByFile bool                // a file without a class is a section, which the first comment is about
}

var (
	csharp = language{
		comment: regexp.MustCompile(`^\s*/// ?(.*)$`),
		class:   regexp.MustCompile(`^\s*public (?:sealed |static |abstract )*(?:class|struct|interface|enum) (\w+)`),
		member:  regexp.MustCompile(`^\s*public (?:static |async |override |readonly |event )*([^{=;]+?)\s*(?:\{.*|=.*|;|)$`),
	}
	cpp = language{
		comment: regexp.MustCompile(`^\s*/// ?(.*)$`),
		class:   regexp.MustCompile(`^(?:class|struct) (\w+)[^;]*$`),
		member:  regexp.MustCompile(`^\s*(?:explicit |inline |static |virtual )*([A-Za-z_][^{;]*?\)?(?: const)?)\s*(?:= [^;]*)?(?:\{.*|;.*| : .*)$`),
		hidden: [][2]*regexp.Regexp{
			{regexp.MustCompile(`^namespace detail`), regexp.MustCompile(`^}  // namespace detail`)},
			{regexp.MustCompile(`^ ?(?:private|protected):`), regexp.MustCompile(`^ ?public:|^};`)},
		},
	}
	gdscript = language{
		comment:  regexp.MustCompile(`^# ?(.*)$`),
		class:    regexp.MustCompile(`^class_name (\w+)`),
		member:   regexp.MustCompile(`^((?:func|signal|var|export var) [a-z]\w*(?:\([^)]*\))?)`),
		isByFile: true,
	}
	typescript = language{
		comment: regexp.MustCompile(`^\s*(?:\*/|/?\*\*? ?(.*?)(?: ?\*/)?)$`),
		class:   regexp.MustCompile(`^export (?:abstract )?(?:class|interface) (\w+)`),
		member:  regexp.MustCompile(`^(?:export (?:async )?(?:function|type|const) |  (?:declare |readonly |async |get |static )*)([a-zA-Z][^{=;]*?)\s*(?:\{.*|=.*|;.*|,)$`),
	}
)

var (
	crossReference = regexp.MustCompile(`<see cref="([^"]+)"\s*/>`)
	parameter      = regexp.MustCompile(`<param name="(\w+)">`)
	tag            = regexp.MustCompile(`</?[a-z]+[^>]*>`)
	notDeclared    = regexp.MustCompile(`^\s*(?:$|\[|//|#if|#end|#pragma|extends|\* )`)
)

// sections returns what a source file documents.
func (l language) sections(file, text string) (all []section) {
	if l.isByFile {
		all = append(all, section{name: file})
	}
	var comment []string
	isHidden := make([]bool, len(l.hidden))
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if found := l.comment.FindStringSubmatch(line); found != nil {
			comment = append(comment, found[1])
			continue
		}
		for i, between := range l.hidden {
			isHidden[i] = (isHidden[i] || between[0].MatchString(line)) && !between[1].MatchString(line)
		}
		if notDeclared.MatchString(line) && !(l.isByFile && line == "" && len(all) == 1 && all[0].about == "" && len(comment) > 0) {
			continue
		}
		all = l.declare(all, line, prose(comment), slices.Contains(isHidden, true))
		comment = nil
	}
	return slices.DeleteFunc(all, func(s section) bool { return len(s.members) == 0 })
}

// declare adds what a line declares, with the comment before it.
func (l language) declare(all []section, line, comment string, isHidden bool) []section {
	class, member := l.class.FindStringSubmatch(line), l.member.FindStringSubmatch(line)
	switch {
	case class != nil && l.isByFile:
		all[0].name, all[0].about = class[1], cmp.Or(comment, all[0].about)
	case comment == "" || isHidden:
	case class != nil:
		all = append(all, section{name: class[1], about: comment})
	case member != nil && len(all) > 0 && !strings.HasPrefix(member[1], "private "):
		last := &all[len(all)-1]
		declaration := strings.Join(strings.Fields(member[1]), " ")
		if strings.Contains(declaration, "(") && !strings.Contains(declaration, ")") {
			declaration += ")" // behind the value of the last parameter
		}
		last.members = append(last.members, [2]string{declaration, comment})
	case l.isByFile && all[0].about == "":
		all[0].about = comment
	}
	return all
}

// prose joins the lines of a comment, without the tags of XML.
func prose(lines []string) string {
	text := crossReference.ReplaceAllString(strings.Join(lines, " "), "$1")
	text = parameter.ReplaceAllString(text, "$1: ")
	return strings.Join(strings.Fields(tag.ReplaceAllString(text, "")), " ")
}
