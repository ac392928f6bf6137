package main

import (
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"strings"
)

// words are the functions that the page's template calls, besides the methods of [Node].
var words = template.FuncMap{
	"markdown": renderMarkdown, "sections": splitSections, "operations": tagOperations,
	"examples": mediaExamples, "curl": curlCommand, "lower": strings.ToLower, "kind": kindText, "limits": limitTexts,
	"pattern": patternText, "nested": nestedSchema,
}

// operation is a method on a path.
type operation struct {
	Method, Path string
	Node         Node
}

// tagOperations returns the operations with that tag, in the order of the contract.
func tagOperations(root Node, tag Node) []operation {
	var list []operation
	for _, path := range root.Get("paths").Members() {
		for _, method := range path.Node.Members() {
			if method.Node.Get("tags").Includes(tag.String()) {
				list = append(list, operation{strings.ToUpper(method.Name), path.Name, method.Node})
			}
		}
	}
	return list
}

// example is one example body with its title.
type example struct {
	Title string
	Node  Node
}

// mediaExamples returns the examples of the media type or, if it has none, the one of its schema.
func mediaExamples(media Node) []example {
	var list []example
	for _, m := range media.Get("examples").Members() {
		list = append(list, example{m.Node.Get("summary").String(), m.Node.Get("value")})
	}
	// Examples of the call itself are better: that of the schema is shared by all calls that use it.
	if len(list) > 0 {
		return list
	}
	if shared := media.Get("schema", "example"); shared.Exists() {
		list = append(list, example{Node: shared})
	}
	return list
}

// here is a placeholder for the director's address. The page's script replaces it by the address of the page.
const here = "http://127.0.0.1:8080"

// curlCommand returns a shell command that calls the operation with that body.
func curlCommand(op operation, body Node) string {
	path, args := op.Path, ""
	for _, p := range op.Node.Get("parameters").Items() {
		value := p.Get("example").String()
		switch p.Get("in").String() {
		case "path":
			path = strings.ReplaceAll(path, "{"+p.Get("name").String()+"}", value)
		case "header":
			args += " \\\n  -H " + quoteShell(p.Get("name").String()+": "+value)
		}
	}
	if body.Exists() {
		args += " \\\n  -H 'Content-Type: application/json' -d " + quoteShell(body.JSON())
	}
	method := ""
	if !body.Exists() && op.Method != http.MethodGet {
		method = "-X " + op.Method + " " // curl sends a GET otherwise
	}
	return "curl " + method + here + path + credentialText(op) + args
}

// credentialText returns the option with the operation's credential, which it takes from a variable of the shell, so
// that the page shows no secret. An operation without security has none.
func credentialText(op operation) string {
	for _, scheme := range op.Node.Get("security").Items() {
		// Each entry of security names one scheme; the first known one is shown.
		switch scheme.Members()[0].Name {
		case "fleetToken":
			return " \\\n  -H \"X-Fleet-Token: $FLEET_TOKEN\""
		case "deploymentToken":
			return " \\\n  -H \"Authorization: $ARBITRIUM_CONTEXT_TOKEN\""
		case "accessToken":
			return " \\\n  -H \"Authorization: Bearer $ACCESS_TOKEN\""
		}
	}
	return ""
}

// quoteShell quotes a text for a POSIX shell: a quote ends the quoted part, stands escaped, and begins another.
func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// kindText returns the type of a value, for people: "integer", "array of string", "map of string".
func kindText(s Node) string {
	switch t := s.Get("type").String(); {
	case t == "array":
		return "array of " + s.Get("items", "type").String()
	// A map is an object whose members have no names in the contract.
	case s.Get("additionalProperties").Exists():
		return "map of " + s.Get("additionalProperties", "type").String()
	case s.Get("format").String() == "uuid":
		return "uuid"
	default:
		return t
	}
}

// nestedSchema returns the schema whose fields the page lists below this one: itself, or the schema of its items.
func nestedSchema(s Node) Node {
	if s.Get("items").Exists() {
		return s.Get("items")
	}
	return s
}

// patternPhrases are the patterns that people understand more easily as a phrase.
var patternPhrases = map[string]string{
	`^[^\x00-\x1F\x7F-\x9F]*$`:       "without control characters",
	`^[^\x00-\x1F\x7F-\x9F\uFFFD]*$`: "without control characters and U+FFFD",
}

// patternText returns the regular expression that the value, or each of its items, must match. It returns "" where
// there is none, and where limitTexts or kindText say the same in words.
func patternText(s Node) string {
	for _, schema := range []Node{s, s.Get("items")} {
		if p := schema.Get("pattern").String(); p != "" && patternPhrases[p] == "" && kindText(schema) != "uuid" {
			return charset.ReplaceAllString(p, "$1")
		}
	}
	return ""
}

// charset matches a pattern that only lists the allowed characters.
var charset = regexp.MustCompile(`^\^(\[[^\]]+\])\*\$$`)

// limitTexts returns the limits of a value, each as a phrase: "1 to 128 characters".
func limitTexts(s Node) []string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	// The schema may have a limit on one side alone.
	sayRange := func(lowName, highName, unit string) {
		switch low, high := s.Get(lowName), s.Get(highName); {
		case low.Exists() && high.Exists():
			say("%s to %s%s", low, high, unit)
		case low.Exists():
			say("at least %s%s", low, unit)
		case high.Exists():
			say("at most %s%s", high, unit)
		}
	}
	sayRange("minimum", "maximum", "")
	sayRange("minLength", "maxLength", " characters")
	sayRange("minItems", "maxItems", " items")
	sayRange("minProperties", "maxProperties", " entries")
	if phrase := patternPhrases[s.Get("pattern").String()]; phrase != "" {
		say("%s", phrase)
	}
	if s.Get("uniqueItems").Exists() {
		say("no duplicate items")
	}
	for _, name := range []string{"items", "additionalProperties"} {
		for _, limit := range elementLimits(s.Get(name)) {
			say("each %s", limit)
		}
	}
	return list
}

// elementLimits returns the limits of the elements of an array or map. For elements with fields it returns none: the
// page shows the fields separately.
func elementLimits(s Node) []string {
	if !s.Exists() || s.Get("properties").Exists() {
		return nil
	}
	return limitTexts(s)
}
