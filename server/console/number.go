package console

import (
	"math"
	"strconv"
)

// formatNumber is a number with spaces between thousands. Fractions have two decimals. It takes the types of numbers
// that views have; pointers other than *int32 must not be nil.
func formatNumber(v any) string {
	var n int64
	switch x := v.(type) {
	case int:
		n = int64(x)
	case int32:
		n = int64(x)
	case int64:
		n = x
	case uint64:
		n = int64(min(x, math.MaxInt64))
	case float64:
		if x != math.Trunc(x) {
			return strconv.FormatFloat(x, 'f', 2, 64)
		}
		n = int64(x)
	case *int32:
		if x == nil {
			return "–"
		}
		n = int64(*x)
	case *int:
		n = int64(*x)
	case *float64:
		return formatNumber(*x)
	}
	digits := strconv.FormatInt(n, 10)
	// U+202F: a narrow space at which no line is broken.
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}
