package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// Node is a place in the contract. Members keep their order in the file, and all methods follow references, so that the
// page's template needs to handle neither.
type Node struct{ rootValue, value any }

// member is a member of an object, by its name. The node is what it refers to.
type member struct {
	Name string
	Node Node
}

// Get returns the node at that path of names, or an empty Node if there is none.
func (n Node) Get(path ...string) Node {
	for _, name := range path {
		n = n.child(name).followRef()
	}
	return n
}

// child returns a member as it stands in the file; Get follows its reference.
func (n Node) child(name string) Node {
	object, _ := n.value.(yaml.MapSlice)
	for _, item := range object {
		if item.Key == name {
			return Node{n.rootValue, item.Value}
		}
	}
	return Node{rootValue: n.rootValue}
}

// followRef resolves a $ref within this document, such as #/components/schemas/Problem.
func (n Node) followRef() Node {
	target, ok := n.child("$ref").value.(string)
	if !ok {
		return n
	}
	// From the root, and by Get, so that what is found may be a reference itself.
	path := strings.Split(strings.TrimPrefix(target, "#/"), "/")
	return Node{n.rootValue, n.rootValue}.Get(path...)
}

// Members returns the members of an object.
func (n Node) Members() []member {
	object, _ := n.value.(yaml.MapSlice)
	list := make([]member, 0, len(object))
	for _, item := range object {
		list = append(list, member{fmt.Sprint(item.Key), Node{n.rootValue, item.Value}.followRef()})
	}
	return list
}

// Items returns the items of an array.
func (n Node) Items() []Node {
	array, _ := n.value.([]any)
	list := make([]Node, 0, len(array))
	for _, value := range array {
		list = append(list, Node{n.rootValue, value}.followRef())
	}
	return list
}

// Strings returns the items of an array of texts.
func (n Node) Strings() []string {
	var list []string
	for _, item := range n.Items() {
		list = append(list, item.String())
	}
	return list
}

// Exists returns whether the contract has a value here.
func (n Node) Exists() bool { return n.value != nil }

// Includes returns whether the array contains that text.
func (n Node) Includes(text string) bool {
	for _, item := range n.Items() {
		if item.String() == text {
			return true
		}
	}
	return false
}

// String returns a scalar as text, and "" for an empty Node.
func (n Node) String() string {
	if n.value == nil {
		return ""
	}
	return fmt.Sprint(n.value)
}

// JSON returns the value as JSON for people, with short values on one line.
func (n Node) JSON() string { return prettyJSON(n.value, "") }

// prettyJSON indents a value by the margin. The outermost value, which has no margin, is always broken into lines;
// values within it only where they are longer than short.
func prettyJSON(value any, margin string) string {
	const short = 50 // characters
	var parts []string
	around := "[]"
	switch value := value.(type) {
	case yaml.MapSlice:
		around = "{}"
		for _, item := range value {
			parts = append(parts, fmt.Sprintf("%q: %s", item.Key, prettyJSON(item.Value, margin+"  ")))
		}
	case []any:
		for _, item := range value {
			parts = append(parts, prettyJSON(item, margin+"  "))
		}
	case string:
		return strconv.Quote(value) // equal to JSON for printable characters
	case nil:
		return "null"
	default: // numbers and booleans are equal in Go and JSON
		return fmt.Sprint(value)
	}
	flat := around[:1] + strings.Join(parts, ", ") + around[1:]
	if margin != "" && len(flat) <= short && !strings.Contains(flat, "\n") {
		return flat
	}
	line := "\n" + margin + "  "
	return around[:1] + line + strings.Join(parts, ","+line) + "\n" + margin + around[1:]
}
