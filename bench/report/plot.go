package report

import (
	"math"
	"slices"
)

// Plot is lines over two axes.
type Plot struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// Series is a line, with dots when it has few points. Values that are NaN or, on a logarithmic axis, not positive have
// no point.
type Series struct {
	Name string
	X, Y []float64 // of the same length
}

type point struct{ x, y float64 }

// points returns the points of the series that p can show, in their order.
func (p Plot) points(s Series) (seen []point) {
	for i := range min(len(s.X), len(s.Y)) {
		if p.X.shows(s.X[i]) && p.Y.shows(s.Y[i]) {
			seen = append(seen, point{s.X[i], s.Y[i]})
		}
	}
	return seen
}

// spans returns the ranges of the axes that show all points.
func (p Plot) spans() (x, y span) {
	var xs, ys []float64
	for _, s := range p.Series {
		for _, at := range p.points(s) {
			xs, ys = append(xs, at.x), append(ys, at.y)
		}
	}
	return p.X.span(xs), p.Y.span(ys)
}

// fromTheTop returns the lines in the order of their right ends, highest first: the order of the legend.
func (p Plot) fromTheTop() []int {
	order, ends := make([]int, len(p.Series)), make([]float64, len(p.Series))
	for i, s := range p.Series {
		order[i], ends[i] = i, math.Inf(-1)
		if points := p.points(s); len(points) > 0 {
			ends[i] = points[len(points)-1].y
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareDown(ends[a], ends[b]) })
	return order
}

func compareDown(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}
