package main

import (
	"fmt"
	"slices"
	"strings"
)

// contextLines is how many equal lines a diff shows around a change.
const contextLines = 3

// maxDiffCells bounds the table of a diff, whose size is the product of the numbers of lines that differ: 16 MiB. What
// is larger is shown as removed and added as a whole.
const maxDiffCells = 4 << 20 // of 4 bytes

// noLineBreak is what the unified format has below a text's last line if that one ends without a line break.
const noLineBreak = "\n\\ No newline at end of file\n"

// diffLine is a line of a diff: ' ' in both, '-' in the first, '+' in the second.
type diffLine struct {
	mark byte
	text string // with its line break, if it has one
}

// unifiedDiff returns the differences of two texts in the unified format, "" for equal ones.
func unifiedDiff(fromTitle, toTitle, from, to string) string {
	if from == to {
		return ""
	}
	lines := diffLines(slices.Collect(strings.Lines(from)), slices.Collect(strings.Lines(to)))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", fromTitle, toTitle)
	fromLine, toLine := 1, 1
	for begin := 0; begin < len(lines); {
		end := hunkEnd(lines, begin)
		if end > begin {
			writeHunk(&out, lines[begin:end], fromLine, toLine)
		} else {
			// Far from every change: the line is counted and not shown.
			end = begin + 1
		}
		for _, l := range lines[begin:end] {
			if l.mark != '+' {
				fromLine++
			}
			if l.mark != '-' {
				toLine++
			}
		}
		begin = end
	}
	return out.String()
}

// hunkEnd returns the end of the hunk that begins at a line, or the line itself if no change is near.
func hunkEnd(lines []diffLine, begin int) int {
	isChange := func(l diffLine) bool { return l.mark != ' ' }
	// A hunk begins with the context of its first change.
	near := lines[begin:min(begin+contextLines+1, len(lines))]
	first := slices.IndexFunc(near, isChange)
	if first < 0 {
		return begin
	}
	last := begin + first
	// Two changes share a hunk if the equal lines between them would be the context of both.
	for i := last + 1; i < len(lines) && i-last <= 2*contextLines+1; i++ {
		if isChange(lines[i]) {
			last = i
		}
	}
	return min(last+1+contextLines, len(lines))
}

// writeHunk writes the lines below a header with the numbers of the first line in both texts, and how many each has.
func writeHunk(out *strings.Builder, lines []diffLine, fromLine, toLine int) {
	// otherMark is that of the lines that only the other text has.
	span := func(firstLine int, otherMark byte) string {
		n := 0
		for _, l := range lines {
			if l.mark != otherMark {
				n++
			}
		}
		if n == 0 {
			firstLine-- // the format names the line before the hunk then
		}
		return fmt.Sprintf("%d,%d", firstLine, n)
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(fromLine, '+'), span(toLine, '-'))
	for _, l := range lines {
		text, hasBreak := strings.CutSuffix(l.text, "\n")
		fmt.Fprintf(out, "%c%s", l.mark, text)
		if hasBreak {
			out.WriteByte('\n')
		} else {
			out.WriteString(noLineBreak)
		}
	}
}

// diffLines returns the lines of both texts, in order, with as many as possible marked equal; if the table of what is
// between the common beginning and end would exceed maxDiffCells, with none of that marked equal.
func diffLines(a, b []string) (lines []diffLine) {
	// Equal beginnings and ends need no table: usually little differs.
	begin := 0
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	end := 0
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	add := func(mark byte, texts []string) {
		for _, text := range texts {
			lines = append(lines, diffLine{mark, text})
		}
	}
	add(' ', a[:begin])
	lines = append(lines, diffByTable(a[begin:len(a)-end], b[begin:len(b)-end])...)
	add(' ', a[len(a)-end:])
	return lines
}

// diffByTable returns the lines of both texts, in order: those of a longest common subsequence are marked equal, or
// none if the table would exceed maxDiffCells.
func diffByTable(a, b []string) (lines []diffLine) {
	width := len(b) + 1
	if (len(a)+1)*width > maxDiffCells {
		for _, text := range a {
			lines = append(lines, diffLine{'-', text})
		}
		for _, text := range b {
			lines = append(lines, diffLine{'+', text})
		}
		return lines
	}
	// longest[i*width+j] is the length of the longest common subsequence of a[i:] and b[j:].
	longest := make([]int32, (len(a)+1)*width)
	for i, left := range slices.Backward(a) {
		for j, right := range slices.Backward(b) {
			if left == right {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, diffLine{' ', a[i]})
			i, j = i+1, j+1
		// On a tie, remove before adding: people read diffs in this order.
		case i < len(a) && (j == len(b) || longest[(i+1)*width+j] >= longest[i*width+j+1]):
			lines = append(lines, diffLine{'-', a[i]})
			i++
		default:
			lines = append(lines, diffLine{'+', b[j]})
			j++
		}
	}
	return lines
}
