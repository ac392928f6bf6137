package report

import (
	"math"
	"strconv"
	"strings"
)

const (
	space = "\u00a0" // a non-breaking space
	none  = "–"      // for a value that was not measured or is not a number
)

// Short formats a number as axes show it: 0.5, 20, 1.5 k, 10 k, 3 M.
func Short(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v), math.IsInf(v, 0):
		return none
	case size >= 1e6:
		return digits(v/1e6) + space + "M"
	case size >= 1e3:
		return digits(v/1e3) + space + "k"
	default:
		return digits(v)
	}
}

// Milliseconds formats a duration, given in milliseconds, as axes show it: 200 µs, 5 ms, 2 s.
func Milliseconds(ms float64) string {
	switch {
	case ms >= 1000:
		return digits(ms/1000) + space + "s"
	case ms >= 1:
		return digits(ms) + space + "ms"
	default:
		return digits(ms*1000) + space + "µs"
	}
}

// digits formats a number with at most three significant digits.
func digits(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64) // parses its own output
	return strconv.FormatFloat(rounded, 'g', -1, 64)
}

// Whole formats a number without a fraction: 12,345.
func Whole(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return none
	}
	text := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	var out strings.Builder
	if v < 0 && text != "0" {
		out.WriteByte('-')
	}
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	return out.String()
}

// figures formats a measured number: three significant digits, or all digits before the point.
func figures(v float64) string {
	switch size := math.Abs(v); {
	case size >= 100, size == 0, math.IsNaN(v):
		return Whole(v)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case size >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
}

func memory(n int64) string {
	switch {
	case n <= 0:
		return none
	case n >= 1<<30:
		return figures(float64(n)/(1<<30)) + space + "GiB"
	default:
		return figures(float64(n)/(1<<20)) + space + "MiB"
	}
}
