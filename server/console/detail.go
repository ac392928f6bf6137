package console

import (
	"encoding/json"
	"html/template"
	"maps"
	"slices"
	"strings"
)

// maxDetail bounds the text of one value of a detail.
const maxDetail = 300

// detail shows the object of JSON that an event carries, as names and values.
func detail(raw json.RawMessage) template.HTML {
	var all map[string]any
	if json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return `<span class="none">–</span>`
	}
	var b strings.Builder
	b.WriteString(`<span class="labels">`)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.WriteString("<span>" + template.HTMLEscapeString(name+": "+valueText(all[name])) + "</span>")
	}
	b.WriteString("</span>")
	return template.HTML(b.String()) //nolint:gosec // G203: escaped
}

func valueText(v any) string {
	text, ok := v.(string)
	if !ok {
		encoded, _ := json.Marshal(v) // decoded values always encode
		text = string(encoded)
	}
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "") + "…"
	}
	return text
}
