package simulate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
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
	rank := min(math.Erfc(-z/math.Sqrt2)/2, 1-1e-12)
	switch d.Shape {
	case Normal:
		return math.Round(d.A + d.B*z)
	case Bimodal:
		half := -1.0
		if rank >= 0.5 {
			half = 1
		}
		return math.Round(d.A + d.B*(half+deviationsOf(2*rank-(half+1)/2)/2))
	case Uniform:
		return d.A + (d.B-d.A)*rank
	case Whole:
		return math.Floor(d.A + (d.B-d.A+1)*rank)
	case Constant:
	}
	return d.A
}

// deviationsOf is the inverse of the rank: how many standard deviations above the mean has that rank.
func deviationsOf(rank float64) float64 {
	return math.Sqrt2 * math.Erfinv(2*min(max(rank, 1e-9), 1-1e-9)-1)
}

// setDistributions replaces how attributes are drawn. Errors: tickets have no such attribute, or one of another type.
func (f *fields) setDistributions(o *Options) error {
	for name, d := range o.Numbers {
		if kind, ok := f.declaredKinds[name]; ok && kind != numberKind || !slices.Contains(f.sortedNames, name) {
			return fmt.Errorf("number %s: %s", name, f.unknownAttribute("number", name))
		}
		if err := d.checkBounds(); err != nil {
			return fmt.Errorf("number %s: %w", name, err)
		}
		f.kindByName[name] = numberKind
	}
	for name, shares := range o.Texts {
		if len(shares) == 0 {
			return fmt.Errorf("text %s: at least one word is needed", name)
		}
		if err := f.checkText(name, shares); err != nil {
			return fmt.Errorf("text %s: %w", name, err)
		}
	}
	return nil
}

func (f *fields) checkText(name string, shares []Share) error {
	if name == roleAttribute && len(f.roles) > 0 {
		if i := slices.IndexFunc(shares, func(s Share) bool { return !slices.Contains(f.roles, s.Name) }); i >= 0 {
			return fmt.Errorf("no team has the role %q; they have %s", shares[i].Name, strings.Join(f.roles, ", "))
		}
		return nil
	}
	if !slices.Contains(f.sortedNames, name) || f.kindByName[name] == numberKind {
		return errors.New(f.unknownAttribute("text or list", name))
	}
	return nil
}

// unknownAttribute says that tickets have no such attribute, and which they have.
func (f *fields) unknownAttribute(what, name string) string {
	var all []string
	for _, n := range f.sortedNames {
		all = append(all, fmt.Sprintf("%s (%s)", n, kindWords[f.kindByName[n]]))
	}
	if len(f.roles) > 0 {
		all = append(all, "role (list)")
	}
	if len(all) == 0 {
		all = []string{"none: the profile compares no attribute"}
	}
	return fmt.Sprintf("tickets of this profile have no %s named %q; they have %s", what, name, strings.Join(all, ", "))
}
