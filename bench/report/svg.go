package report

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SVG writes a plot as a picture without a background, in colours that are readable on white and on black, for a page
// or a file. Errors are those of w.
func SVG(w io.Writer, p Plot) error {
	p = p.legible()
	paper := vgsvg.New(width, p.height())
	p.draw(draw.New(paper))
	var drawn bytes.Buffer
	if _, err := paper.WriteTo(&drawn); err != nil {
		return err
	}
	_, err := io.WriteString(w, p.frame(drawn.String()))
	return err
}

// inOurs removes the fonts that vgsvg sets for each text: the picture has one font.
var inOurs = strings.NewReplacer("font-family:Liberation Sans;font-variant:normal;", "", "font-weight:normal;", "",
	"font-style:normal;", "")

// frame adds a header that scales the drawing, a description for screen readers, and a font of about the same width as
// that of the layout, which every system has.
func (p Plot) frame(drawn string) string {
	_, body, _ := strings.Cut(drawn, "<g ")
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="%v" viewBox="0 0 %[1]v %[2]v" role="img" aria-label="%s"`+
		` font-family="Arial, 'Liberation Sans', Helvetica, sans-serif">`,
		width.Points(), p.height().Points(), html.EscapeString(p.inWords()))
	return head + "\n<g " + inOurs.Replace(body)
}

func (p Plot) inWords() string {
	names := make([]string, len(p.Series))
	for i, s := range p.Series {
		names[i] = s.Name
	}
	return fmt.Sprintf("%s: %s by %s. %s", p.Title, p.Y.Title, p.X.Title, strings.Join(names, ", "))
}

// longest is the number of characters that the legend has space for.
const longest = 32

// legible returns p with texts that XML permits and that fit on a line.
func (p Plot) legible() Plot {
	p.Title, p.X.Title, p.Y.Title = oneLine(p.Title, 80), oneLine(p.X.Title, 80), oneLine(p.Y.Title, 80)
	series := make([]Series, len(p.Series))
	for i, s := range p.Series {
		s.Name = oneLine(s.Name, longest)
		series[i] = s
	}
	p.Series = series
	return p
}

// oneLine removes what XML forbids or what breaks the line, and shortens the text.
func oneLine(text string, letters int) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	if runes := []rune(clean); len(runes) > letters {
		return string(runes[:letters-1]) + "…"
	}
	return clean
}
