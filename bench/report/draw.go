package report

import (
	"image/color"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes in points, which a page shows as pixels.
const (
	width      vg.Length = 640
	least      vg.Length = 340 // height; more with a long legend
	headRoom   vg.Length = 54  // for the titles above the plot
	entryRoom  vg.Length = 22  // for a line of the legend
	thumbRoom  vg.Length = 22
	legendGap  vg.Length = 26
	wider                = 1.2 // some systems' fonts are this much wider than Arial
	dotsAtMost           = 16  // more points would hide the line
)

// Every colour has a contrast of at least 3:1 on white and on near black, colours of text 4:1: a picture follows the
// system's colour scheme, which may differ from that of the page.
var (
	ink   = color.RGBA{0x6b, 0x76, 0x85, 0xff}
	faint = color.NRGBA{0x80, 0x8c, 0x9c, 0x48}
	inks  = []color.RGBA{
		{0x4c, 0x6e, 0xf5, 0xff}, // blue
		{0xd9, 0x77, 0x2b, 0xff}, // orange
		{0x1a, 0x9a, 0x6c, 0xff}, // green
		{0xcc, 0x4b, 0x97, 0xff}, // magenta
		{0x1c, 0x93, 0xad, 0xff}, // cyan
		{0xa8, 0x85, 0x1b, 0xff}, // gold
		{0xd0, 0x50, 0x3c, 0xff}, // red
		{0x8a, 0x63, 0xd2, 0xff}, // violet
	}
	dashes = [][]vg.Length{nil, {6, 3}, {2, 3}} // for series beyond the number of colours
)

func (p Plot) height() vg.Length {
	return max(least, headRoom+entryRoom*vg.Length(len(p.Series)+1))
}

func (p Plot) draw(c draw.Canvas) {
	g := p.axes()
	names := p.legend(g)
	c.FillText(inkOf(15, true), vg.Point{X: c.Min.X + 4, Y: c.Max.Y - 4}, p.Title)
	c.FillText(inkOf(12, false), vg.Point{X: c.Min.X + 4, Y: c.Max.Y - 26}, p.Y.Title)

	body := draw.Crop(c, 4, -4, 4, -headRoom)
	aside := wider * names.Rectangle(body).Size().X
	g.Draw(draw.Crop(body, 0, -aside-legendGap, 0, 0))
	names.Draw(draw.Crop(body, body.Size().X-aside, 0, 0, 0))
}

// axes makes an empty plot: a line at its foot, and faint lines across.
func (p Plot) axes() *gonum.Plot {
	g := gonum.New()
	g.BackgroundColor = nil
	x, y := p.spans()
	dress(&g.X, p.X, x)
	dress(&g.Y, p.Y, y)
	g.X.Label.Text, g.X.Label.TextStyle, g.X.Label.Padding = p.X.Title, inkOf(12, false), 6
	g.X.Label.TextStyle.XAlign, g.X.Label.TextStyle.YAlign = draw.XCenter, draw.YBottom
	g.X.LineStyle = draw.LineStyle{Color: ink, Width: 1}
	g.X.Tick.LineStyle, g.X.Tick.Length = g.X.LineStyle, 5
	g.Y.Width, g.Y.Tick.Length, g.Y.Padding, g.Y.Label.TextStyle = 0, 0, 9, inkOf(12, false)
	g.Add(&plotter.Grid{Horizontal: draw.LineStyle{Color: faint, Width: 1}})
	return g
}

func dress(axis *gonum.Axis, a Axis, s span) {
	axis.Min, axis.Max, axis.Padding = s.min, s.max, 0
	axis.Tick.Marker = s
	axis.Tick.Label.Font, axis.Tick.Label.Color = sans(12, false), ink
	if a.Log {
		axis.Scale = gonum.LogScale{}
	}
}

// Ticks implements plot.Ticker.
func (s span) Ticks(float64, float64) []gonum.Tick {
	ticks := make([]gonum.Tick, len(s.marks))
	for i, m := range s.marks {
		ticks[i] = gonum.Tick{Value: m.at, Label: m.label}
	}
	return ticks
}

// legend adds the lines to g, and their names beside the plot in the order in which the lines end.
func (p Plot) legend(g *gonum.Plot) gonum.Legend {
	names := gonum.NewLegend()
	names.Top, names.Left = true, true
	names.TextStyle, names.ThumbnailWidth, names.Padding = inkOf(12, false), thumbRoom, 7
	names.TextStyle.YAlign = 0
	thumbs := make([][]gonum.Thumbnailer, len(p.Series))
	for i := range p.Series {
		thumbs[i] = p.line(g, i)
	}
	for _, i := range p.fromTheTop() {
		names.Add(space+p.Series[i].Name, thumbs[i]...)
	}
	return names
}

// line adds a series to g and returns its symbol for the legend.
func (p Plot) line(g *gonum.Plot, i int) []gonum.Thumbnailer {
	points := p.points(p.Series[i])
	at := make(plotter.XYs, len(points))
	for n, xy := range points {
		at[n] = plotter.XY{X: xy.x, Y: xy.y}
	}
	hue := inks[i%len(inks)]
	line := &plotter.Line{XYs: at, LineStyle: draw.LineStyle{Color: hue, Width: 2.25,
		Dashes: dashes[i/len(inks)%len(dashes)]}}
	if len(at) > 0 {
		g.Add(line)
	}
	if len(at) == 0 || len(at) > dotsAtMost {
		return []gonum.Thumbnailer{line}
	}
	dots := &plotter.Scatter{XYs: at, GlyphStyle: draw.GlyphStyle{Color: hue, Radius: 3.25, Shape: draw.CircleGlyph{}}}
	g.Add(dots)
	return []gonum.Thumbnailer{line, dots}
}

func inkOf(size font.Length, bold bool) text.Style {
	return text.Style{Color: ink, Font: sans(size, bold), XAlign: draw.XLeft, YAlign: draw.YTop,
		Handler: gonum.DefaultTextHandler}
}

func sans(size font.Length, bold bool) font.Font {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = 3 // bold, as golang.org/x/image/font counts
	}
	return f
}
