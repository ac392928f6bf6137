package console

import (
	"bytes"
	"encoding/json"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/db/opsview"
)

// maxValue is how many bytes of one value of a detail are shown.
const maxValue = 300

// maxWhole is how many bytes of a whole detail are shown.
const maxWhole = 64 << 10

// detailHTML shows the object of JSON that an event carries, as names and values. Where a value is cut, the whole text
// can be opened.
func detailHTML(e opsview.Event) template.HTML {
	html, cut := namedValues(e.Detail)
	if cut {
		html += wholeDetail(e)
	}
	return template.HTML(html) //nolint:gosec // G203: escaped
}

// objectHTML shows an object of JSON as names and values, which are cut where they are long.
func objectHTML(raw json.RawMessage) template.HTML {
	html, _ := namedValues(raw)
	return template.HTML(html) //nolint:gosec // G203: escaped
}

// namedValues returns the names and values of an object, sorted by name. cut says that some value is not shown whole.
func namedValues(raw json.RawMessage) (html string, cut bool) {
	var all map[string]any
	if json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return `<span class="none">–</span>`, false
	}
	var b strings.Builder
	b.WriteString(`<span class="labels">`)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, long := valueText(all[name])
		cut = cut || long
		b.WriteString("<span>" + template.HTMLEscapeString(name+": "+text) + "</span>")
	}
	b.WriteString("</span>")
	return b.String(), cut
}

// wholeDetail returns the whole text of a detail, folded. By its id, console.js keeps it unfolded when the page is
// replaced.
func wholeDetail(e opsview.Event) string {
	var text bytes.Buffer
	if json.Indent(&text, e.Detail, "", "  ") != nil {
		return ""
	}
	shown := shortenText(text.String(), maxWhole)
	return `<details id="d-` + e.ID.String() +
		`"><summary>Whole detail</summary><pre class="words" tabindex="0">` + template.HTMLEscapeString(shown) + `</pre></details>`
}

// valueText returns a value as text, and whether it is cut.
func valueText(v any) (text string, cut bool) {
	text, ok := v.(string)
	if !ok {
		encoded, _ := json.Marshal(v) // decoded values always encode
		text = string(encoded)
	}
	return shortenText(text, maxValue), len(text) > maxValue
}

// shortenText cuts a text after so many bytes, between two characters, and appends an ellipsis if it does.
func shortenText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
