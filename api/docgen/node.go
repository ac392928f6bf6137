package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// Node is a place in the contract. Members keep the order they were written in, and references are followed without
// saying so, so that the page needs to know of neither.
type Node struct{ root, value any }

type member struct {
	Name string
	Node
}

// Get walks down by names; a place that does not exist is an empty Node.
func (n Node) Get(path ...string) Node {
	for _, name := range path {
		n = n.child(name).follow()
	}
	return n
}

func (n Node) child(name string) Node {
	object, _ := n.value.(yaml.MapSlice)
	for _, item := range object {
		if item.Key == name {
			return Node{n.root, item.Value}
		}
	}
	return Node{root: n.root}
}

// follow goes where a $ref of this document points, such as #/components/schemas/Problem.
func (n Node) follow() Node {
	target, ok := n.child("$ref").value.(string)
	if !ok {
		return n
	}
	path := strings.Split(strings.TrimPrefix(target, "#/"), "/")
	return Node{n.root, n.root}.Get(path...)
}

// Members gives the members of an object.
func (n Node) Members() []member {
	object, _ := n.value.(yaml.MapSlice)
	list := make([]member, 0, len(object))
	for _, item := range object {
		list = append(list, member{fmt.Sprint(item.Key), Node{n.root, item.Value}.follow()})
	}
	return list
}

// Items gives the items of an array.
func (n Node) Items() []Node {
	array, _ := n.value.([]any)
	list := make([]Node, 0, len(array))
	for _, value := range array {
		list = append(list, Node{n.root, value}.follow())
	}
	return list
}

// Exists tells whether the contract says anything here.
func (n Node) Exists() bool { return n.value != nil }

// Includes tells whether the array holds that text.
func (n Node) Includes(text string) bool {
	for _, item := range n.Items() {
		if item.String() == text {
			return true
		}
	}
	return false
}

// String gives a scalar as text, and nothing for an empty Node.
func (n Node) String() string {
	if n.value == nil {
		return ""
	}
	return fmt.Sprint(n.value)
}

// JSON gives the place as JSON for people: what is short stands on one line.
func (n Node) JSON() string { return pretty(n.value, "") }

func pretty(value any, margin string) string {
	const short = 50
	var parts []string
	around := "[]"
	switch value := value.(type) {
	case yaml.MapSlice:
		around = "{}"
		for _, item := range value {
			parts = append(parts, fmt.Sprintf("%q: %s", item.Key, pretty(item.Value, margin+"  ")))
		}
	case []any:
		for _, item := range value {
			parts = append(parts, pretty(item, margin+"  "))
		}
	case string:
		return strconv.Quote(value) // as JSON does, for what can be printed
	case nil:
		return "null"
	default: // numbers and booleans look alike in Go and JSON
		return fmt.Sprint(value)
	}
	flat := around[:1] + strings.Join(parts, ", ") + around[1:]
	if margin != "" && len(flat) <= short && !strings.Contains(flat, "\n") {
		return flat
	}
	line := "\n" + margin + "  "
	return around[:1] + line + strings.Join(parts, ","+line) + "\n" + margin + around[1:]
}
