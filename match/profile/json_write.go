package profile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
)

// members is an object whose keys keep their order.
type members []member

type member struct {
	name  string
	value any
}

// setMember adds a key, unless the value is absent: nil, "", an empty list or an empty object. Numbers and truth values
// are never absent: defaults of 0 and false are written out.
func (m *members) setMember(name string, value any) {
	switch v := value.(type) {
	case nil:
		return
	case string:
		if v == "" {
			return
		}
	case []any:
		if len(v) == 0 {
			return
		}
	case members:
		if len(v) == 0 {
			return
		}
	}
	*m = append(*m, member{name, value})
}

// encodeJSON encodes members, []any, and what json.Marshal encodes. Unlike json.Marshal it leaves <, > and & as they
// are.
func encodeJSON(value any) []byte {
	var out bytes.Buffer
	writeJSON(&out, value)
	return out.Bytes()
}

func writeJSON(out *bytes.Buffer, value any) {
	switch v := value.(type) {
	case members:
		out.WriteByte('{')
		for i, m := range v {
			writeSeparator(out, i)
			writeJSON(out, m.name)
			out.WriteByte(':')
			writeJSON(out, m.value)
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i, item := range v {
			writeSeparator(out, i)
			writeJSON(out, item)
		}
		out.WriteByte(']')
	default:
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		_ = e.Encode(v)             // texts, finite numbers and raw JSON: it cannot fail
		out.Truncate(out.Len() - 1) // the line feed
	}
}

func writeSeparator(out *bytes.Buffer, i int) {
	if i > 0 {
		out.WriteByte(',')
	}
}

// jsonValue returns a node for encodeJSON, with sorted keys.
func (n *node) jsonValue() any {
	switch n.kind {
	case isFlag:
		return n.flagValue
	case isNumber:
		// With the digits of the document, of which a float64 may lose some.
		if json.Valid([]byte(n.plainText)) {
			return json.Number(n.plainText)
		}
		return n.numberValue // YAML's +1, 01 and .5 are no JSON
	case isText:
		return n.plainText
	case isList:
		items := make([]any, len(n.itemNodes))
		for i, item := range n.itemNodes {
			items[i] = item.jsonValue()
		}
		return items
	case isObject: // with sorted keys
		all := make(members, len(n.itemNodes))
		for i, item := range n.itemNodes {
			all[i] = member{n.objectKeys[i].name, item.jsonValue()}
		}
		slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.name, b.name) })
		return all
	default: // isNull
		return nil
	}
}

// encodeEach encodes the items of a list.
func encodeEach[T any](items []T, encode func(T) members) []any {
	all := make([]any, len(items))
	for i, item := range items {
		all[i] = encode(item)
	}
	return all
}

func anyTexts(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}
