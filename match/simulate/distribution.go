package simulate

import (
	"errors"
	"fmt"
	"math"
)

// Shape is the form of a [Distribution].
type Shape uint8

// The shapes. A and B are the numbers of the distribution.
const (
	Normal   Shape = iota // mean A, standard deviation B
	Bimodal               // half of the players are around A+B, half around A-B, each with half of B as deviation
	Uniform               // from A to B
	Whole                 // whole numbers from A to B, each as often
	Constant              // A
)

// Distribution says how a number is distributed over players.
type Distribution struct {
	Shape Shape
	A, B  float64
}

func (d Distribution) checkBounds() error {
	switch {
	case math.IsNaN(d.A+d.B) || math.IsInf(d.A, 0) || math.IsInf(d.B, 0) || math.IsInf(d.B-d.A, 0):
		return errors.New("its numbers must be finite")
	case (d.Shape == Normal || d.Shape == Bimodal) && d.B < 0:
		return fmt.Errorf("a deviation must be at least 0, not %g", d.B)
	case (d.Shape == Uniform || d.Shape == Whole) && d.B < d.A:
		return fmt.Errorf("the first number must be at most the second, not %g and %g", d.A, d.B)
	}
	return nil
}

// valueAt returns the number of a player that is z standard deviations above the mean of a normal distribution: the one
// of the same rank.
func (d Distribution) valueAt(z float64) float64 {
	// The rank is below 1, so that the highest whole number of a range is not exceeded.
	rank := min(math.Erfc(-z/math.Sqrt2)/2, 1-1e-12)
	switch d.Shape {
	case Normal:
		return math.Round(d.A + float64(d.B*z))
	case Bimodal:
		// Those of the lower half are around A-B, the others around A+B, each with the rank that it has in its half.
		half, rankInHalf := -1.0, 2*rank
		if rank >= 0.5 {
			half, rankInHalf = 1, 2*rank-1
		}
		return math.Round(d.A + float64(d.B*(half+float64(deviationsOf(rankInHalf)/2))))
	case Uniform:
		return d.A + float64((d.B-d.A)*rank)
	case Whole:
		return math.Floor(d.A + float64((d.B-d.A+1)*rank))
	default: // Constant
		return d.A
	}
}

// deviationsOf returns how many standard deviations above the mean of a normal distribution a rank is.
func deviationsOf(rank float64) float64 {
	// Bounded, since it would be infinite for 0 and 1.
	return math.Sqrt2 * math.Erfinv(2*min(max(rank, 1e-9), 1-1e-9)-1)
}
