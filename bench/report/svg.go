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

// SVG writes a plot as a picture of its own: nothing behind it, and colours that are read on white as on black. It stands
// in a page as well as in a file. Errors are those of w.
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

// inOurs leaves out what vgsvg says with each text: the picture has one font for all.
var inOurs = strings.NewReplacer("font-family:Liberation Sans;font-variant:normal;", "", "font-weight:normal;", "", "font-style:normal;", "")

// frame gives the drawing a head that scales, says what it shows to those who do not see it, and brings fonts as wide as
// those it was laid out with, of which every system has one.
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

// longest is how many letters of a name the legend has room for.
const longest = 32

// legible is p with texts that XML can hold and a line has room for.
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

// oneLine leaves out what XML forbids or would break the line, and what is beyond so many letters.
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
