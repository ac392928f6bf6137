package console

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"html/template"
	"slices"
	"strings"
	"time"
)

// series is a line of a plot: a value for each step, oldest first. A value below zero is a gap.
type series struct {
	Name   string
	Values []float64
}

// plotData is a plot of values over time.
type plotData struct {
	Title string
	Unit  string // after numbers, as in " s"
	From  time.Time
	Until time.Time
	Step  time.Duration // from one value to the next; 0: a minute
	Lines []series
}

// clockText shows a time of the scale, with the day if steps are hours: such a plot is of several days.
func (p plotData) clockText(t time.Time) string {
	if p.Step >= time.Hour {
		return t.UTC().Format("Mon 15:04")
	}
	return t.UTC().Format("15:04")
}

// stepName is the heading of the column of times.
func (p plotData) stepName() string {
	if p.Step >= time.Hour {
		return "Hour, UTC"
	}
	return "Minute, UTC"
}

const (
	// The units of the SVG, which is stretched to the width of the page.
	plotWidth, plotHeight = 600.0, 120.0
	// plotTop is the free space above the highest value, whose line would be cut in half at the edge.
	plotTop = 8.0
	// loneWidth is the length of the line that stands for a value between two gaps.
	loneWidth = 6.0
	// lineColours is how many classes for lines the style sheet has.
	lineColours = 4
)

// plotHTML draws lines as SVG without scripts and styles of its own, with the scale beside it and the present value of
// each line below. Screen readers get its title and the last and highest values.
func plotHTML(p plotData) template.HTML {
	highest := 0.0
	for _, l := range p.Lines {
		for _, v := range l.Values {
			highest = max(highest, v)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<figure class="plot"><figcaption>%s</figcaption><div class="chart"><div class="axis" aria-hidden="true"><span>%s</span><span>0</span></div>`,
		template.HTMLEscapeString(p.Title), template.HTMLEscapeString(formatNumber(highest)+p.Unit))
	fmt.Fprintf(&b, `<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s" preserveAspectRatio="none">`,
		plotWidth, plotHeight, template.HTMLEscapeString(p.wordsFor(highest)))
	for _, y := range []float64{plotTop, (plotTop + plotHeight - 1) / 2, plotHeight - 1} {
		fmt.Fprintf(&b, `<line class="grid" x1="0" x2="%.0f" y1="%.1f" y2="%.1f"></line>`, plotWidth, y, y)
	}
	for i, l := range p.Lines {
		for _, d := range l.linePaths(highest) {
			fmt.Fprintf(&b, `<polyline class="line%d" points="%s"></polyline>`, i%lineColours, d)
		}
	}
	b.WriteString(`</svg></div><div class="scale"><span>` + p.clockText(p.From) + `</span><span>` +
		p.clockText(p.From.Add(p.Until.Sub(p.From)/2)) + `</span><span>` +
		p.clockText(p.Until) + ` UTC</span></div>` + p.legendHTML() + p.tableHTML() + `</figure>`)
	return template.HTML(b.String()) //nolint:gosec // G203: escaped
}

// legendHTML names the lines, with the present value of each.
func (p plotData) legendHTML() string {
	var b strings.Builder
	b.WriteString(`<ul class="legend">`)
	for i, l := range p.Lines {
		present := "no value now"
		if value, known := l.lastValue(); known {
			present = "now " + formatNumber(value) + p.Unit
		}
		fmt.Fprintf(&b, `<li class="line%d">%s, <b>%s</b></li>`, i%lineColours, template.HTMLEscapeString(l.Name),
			template.HTMLEscapeString(present))
	}
	b.WriteString(`</ul>`)
	return b.String()
}

// lastValue returns the latest value of the last three steps: workers write a value up to a step later.
func (l series) lastValue() (value float64, known bool) {
	for _, v := range slices.Backward(l.Values[max(0, len(l.Values)-3):]) {
		if v >= 0 {
			return v, true
		}
	}
	return 0, false
}

// sparkHTML draws one line without scale and words, for a tile whose number says the present value.
func sparkHTML(values []float64) template.HTML {
	highest := slices.Max(append([]float64{0}, values...))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="spark" viewBox="0 0 %.0f %.0f" aria-hidden="true" preserveAspectRatio="none">`,
		plotWidth, plotHeight)
	for _, d := range (series{Values: values}).linePaths(highest) {
		fmt.Fprintf(&b, `<polyline class="line0" points="%s"></polyline>`, d)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // G203: of digits
}

// tableHTML is the plot as a table, for people who cannot see it, or want its values. It is folded at first, and leaves
// out the steps in which no line is above zero.
func (p plotData) tableHTML() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<details id="table-%x"><summary>As a table</summary><table><caption class="hidden">%s</caption>`,
		hashOf(p.Title), template.HTMLEscapeString(p.Title))
	b.WriteString(`<thead><tr><th scope="col">` + p.stepName() + `</th>`)
	for _, l := range p.Lines {
		b.WriteString(`<th scope="col" class="n">` + template.HTMLEscapeString(l.Name) + `</th>`)
	}
	b.WriteString(`</tr></thead><tbody>`)
	for i := range p.stepCount() {
		if p.isAboveZero(i) {
			b.WriteString(p.rowHTML(i))
		}
	}
	b.WriteString(`</tbody></table></details>`)
	return b.String()
}

// stepCount is the number of values of each line.
func (p plotData) stepCount() int {
	if len(p.Lines) == 0 {
		return 0
	}
	return len(p.Lines[0].Values)
}

// isAboveZero reports whether a line is above zero in step i.
func (p plotData) isAboveZero(i int) bool {
	return slices.ContainsFunc(p.Lines, func(l series) bool { return l.Values[i] > 0 })
}

// rowHTML is the row of step i.
func (p plotData) rowHTML(i int) string {
	var row strings.Builder
	at := p.From.Add(time.Duration(i) * cmp.Or(p.Step, time.Minute))
	row.WriteString(`<tr><th scope="row">` + p.clockText(at) + `</th>`)
	for _, l := range p.Lines {
		text := "–"
		if l.Values[i] >= 0 {
			text = template.HTMLEscapeString(formatNumber(l.Values[i]) + p.Unit)
		}
		row.WriteString(`<td class="n">` + text + `</td>`)
	}
	row.WriteString(`</tr>`)
	return row.String()
}

// hashOf makes an id of a text, by which console.js keeps the table unfolded when the page is replaced.
func hashOf(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}

// wordsFor is the plot in words, for screen readers.
func (p plotData) wordsFor(highest float64) string {
	says := []string{p.Title, "highest " + formatNumber(highest) + p.Unit}
	for _, l := range p.Lines {
		if value, known := l.lastValue(); known {
			says = append(says, l.Name+" now "+formatNumber(value)+p.Unit)
		}
	}
	return strings.Join(says, ", ")
}

// plotPoint is a point of a plot, in the units of its SVG.
type plotPoint struct{ x, y float64 }

// pointOf returns where the value of step i is drawn in a plot whose highest value is given.
func (l series) pointOf(i int, highest float64) plotPoint {
	// SVG counts from the top. The lower bound of highest keeps lines of zeros alone from a division by zero.
	return plotPoint{plotWidth * float64(i) / float64(max(len(l.Values)-1, 1)),
		plotHeight - 1 - (plotHeight-1-plotTop)*l.Values[i]/max(highest, 1e-9)}
}

// linePaths returns the points of the line as SVG has them, a text for each part without gaps.
func (l series) linePaths(highest float64) (paths []string) {
	var part []plotPoint
	for i, v := range l.Values {
		if v >= 0 {
			part = append(part, l.pointOf(i, highest))
		}
		isEnd := v < 0 || i == len(l.Values)-1
		if isEnd && len(part) > 0 {
			paths, part = append(paths, pathText(part)), part[:0]
		}
	}
	return paths
}

// pathText is a part of a line for a polyline of SVG.
func pathText(part []plotPoint) string {
	if len(part) == 1 { // a lone value is a short line, so that it is seen
		at := part[0]
		part = []plotPoint{{at.x - loneWidth/2, at.y}, {at.x + loneWidth/2, at.y}}
	}
	texts := make([]string, len(part))
	for i, at := range part {
		texts[i] = fmt.Sprintf("%.1f,%.1f", at.x, at.y)
	}
	return strings.Join(texts, " ")
}
