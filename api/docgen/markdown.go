package main

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

// section is the part of the page below one heading.
type section struct{ ID, Title, Body string }

// splitSections splits a description at its headings; the first section, before any heading, has no title.
func splitSections(text string) []section {
	var list []section
	// The line break in front lets a heading on the first line begin a section.
	for i, part := range strings.Split("\n"+text, "\n## ") {
		title, body, _ := strings.Cut(part, "\n")
		if i == 0 {
			title, body = "", part
		}
		list = append(list, section{slugOf(title), title, body})
	}
	return list
}

var notInSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slugOf returns the anchor of a heading, to which descriptions of the contract link: lower case, with a hyphen for
// what lies between words.
func slugOf(title string) string {
	return strings.Trim(notInSlug.ReplaceAllString(strings.ToLower(title), "-"), "-")
}

// renderMarkdown renders the syntax that the contract uses: paragraphs, lists, tables, `code`, **bold**, *italics* and
// [links](#there).
func renderMarkdown(n any) template.HTML {
	var out strings.Builder
	// The template has descriptions as Nodes, and the bodies of sections as texts.
	text := ""
	switch n := n.(type) {
	case string:
		text = n
	case Node:
		text = n.String()
	}
	// As in Markdown, a blank line ends a block.
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		switch first := lines[0]; {
		case strings.HasPrefix(first, "|"):
			out.WriteString(renderTable(lines))
		case bullet.MatchString(first):
			out.WriteString(renderList(lines))
		default:
			out.WriteString("<p>" + renderInline(strings.Join(lines, " ")) + "</p>\n")
		}
	}
	return template.HTML(out.String()) //nolint:gosec // made of escaped text and the tags of this file
}

var bullet = regexp.MustCompile(`^(-|\d+\.) +`)

// renderList renders a list, numbered where its first line is. The browser counts the items, so their own numbers are
// left out.
func renderList(lines []string) string {
	tag := "ol"
	if strings.HasPrefix(lines[0], "-") {
		tag = "ul"
	}
	var items []string
	for _, line := range lines {
		if itemBullet := bullet.FindString(line); itemBullet != "" {
			items = append(items, line[len(itemBullet):])
		} else {
			// A line without a bullet continues the item before it.
			items[len(items)-1] += " " + strings.TrimSpace(line)
		}
	}
	var out strings.Builder
	for _, item := range items {
		out.WriteString("<li>" + renderInline(item) + "</li>\n")
	}
	return "<" + tag + ">\n" + out.String() + "</" + tag + ">\n"
}

// renderTable renders a table. Each cell names its column, which a narrow screen shows in front of it. In a table whose
// first column is Code, each row gets an anchor: /docs#no_capacity is the type of a problem.
func renderTable(lines []string) string {
	var out strings.Builder
	class, heads := "", splitCells(lines[0])
	isAnchored := heads[0] == "Code"
	if isAnchored {
		class = ` class="codes"`
	}
	out.WriteString("<tr>" + renderRow("th", heads, nil) + "</tr></thead><tbody>\n")
	// After the head and the separator line below it.
	for _, line := range lines[2:] {
		id := ""
		if isAnchored {
			// Codes stand in backquotes, which an anchor cannot have.
			id = ` id="` + html.EscapeString(strings.Trim(splitCells(line)[0], "`")) + `"`
		}
		out.WriteString("<tr" + id + ">" + renderRow("td", splitCells(line), heads) + "</tr>\n")
	}
	return `<div class="scroll"><table` + class + `><thead>` + out.String() + "</tbody></table></div>\n"
}

// splitCells returns the texts between the bars of a line.
func splitCells(line string) []string {
	list := strings.Split(strings.Trim(line, "| "), "|")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// renderRow renders a line of a table; heads, nil for the head itself, name the columns of its cells.
func renderRow(tag string, cells, heads []string) string {
	var out strings.Builder
	for i, cell := range cells {
		out.WriteString("<" + tag)
		// A row may have more cells than the head has columns.
		if i < len(heads) {
			out.WriteString(` data-head="` + html.EscapeString(heads[i]) + `"`)
		}
		out.WriteString(">" + renderInline(cell) + "</" + tag + ">")
	}
	return out.String()
}

// markup finds the first piece of code, bold, italics or link of a text. Each has a group of its own for its content; a
// link has two, its text and its target.
var markup = regexp.MustCompile("`([^`]+)`" + `|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\(([^)]+)\)`)

// renderInline renders a text without blocks: its markup becomes tags, all else is escaped.
func renderInline(text string) string {
	var out strings.Builder
	for {
		at := markup.FindStringSubmatchIndex(text)
		if at == nil {
			return out.String() + html.EscapeString(text)
		}
		out.WriteString(html.EscapeString(text[:at[0]]))
		// Group i lies from at[2*i] to at[2*i+1]; both are -1 where it took no part in the match.
		part := func(i int) string { return text[at[2*i]:at[2*i+1]] }
		switch {
		case at[2] >= 0:
			// Code is shown as it is: stars and brackets in it mark nothing.
			out.WriteString("<code>" + html.EscapeString(part(1)) + "</code>")
		case at[4] >= 0:
			out.WriteString("<strong>" + renderInline(part(2)) + "</strong>")
		case at[6] >= 0:
			out.WriteString("<em>" + renderInline(part(3)) + "</em>")
		default:
			out.WriteString(`<a href="` + html.EscapeString(part(5)) + `">` + renderInline(part(4)) + "</a>")
		}
		text = text[at[1]:]
	}
}
