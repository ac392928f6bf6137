package matchtest

import (
	"maps"
	"math"
	"slices"

	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
)

// What fields and pools consist of: few names and values, so that random pools often hold random fields.
var (
	names = rapid.SampledFrom([]string{"", "a", "b", "A", "mode", "a\x00"})
	texts = rapid.OneOf(rapid.SampledFrom([]string{"", "a", "A", "b", "a\x00", "é", "{}", "NULL"}),
		rapid.StringN(0, 3, -1))
	numbers = rapid.OneOf(
		rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, 2, 3,
			math.MaxFloat64, math.SmallestNonzeroFloat64}),
		rapid.Map(rapid.IntRange(-3, 3), func(n int) float64 { return float64(n) / 2 }),
		rapid.Float64())
	excludes = rapid.OneOf(rapid.SampledFrom([]match.Exclude{0, 1, 2, 3}),
		rapid.Map(rapid.Int32(), func(n int32) match.Exclude { return match.Exclude(n) }))
	moments = rapid.Custom(func(t *rapid.T) match.Moment {
		return match.Moment{
			// Around the turn of a second, so that sometimes the seconds decide, sometimes the nanoseconds.
			Seconds: rapid.Int64Range(1_790_000_000, 1_790_000_001).Draw(t, "seconds"),
			Nanos:   rapid.OneOf(rapid.Int32Range(0, 3), rapid.Int32Range(999_999_998, 999_999_999)).Draw(t, "nanos"),
		}
	})
	// bounds are of create_time, also those that no ticket reaches: the years 1 and 9999, and int64 nanoseconds.
	bounds = rapid.OneOf(moments, rapid.SampledFrom([]match.Moment{
		{}, {Seconds: -62135596800}, {Seconds: 253402300799, Nanos: 999_999_999}, {Seconds: -9223372037},
		{Seconds: 9223372037},
	}))
)

// Fields generates fields of tickets and backfills, created within two seconds of each other.
func Fields() *rapid.Generator[match.Fields] {
	return rapid.Custom(func(t *rapid.T) match.Fields {
		return match.Fields{
			Doubles: rapid.MapOfN(names, numbers, 0, 4).Draw(t, "doubles"),
			Strings: rapid.MapOfN(names, texts, 0, 4).Draw(t, "strings"),
			Tags:    rapid.SliceOfN(texts, 0, 4).Draw(t, "tags"),
			Created: moments.Draw(t, "created"),
		}
	})
}

// Pools generates pools that pass their Check and hold some of [Fields]: about half of them are made by Fitting.
func Pools() *rapid.Generator[match.Pool] {
	return rapid.Custom(func(t *rapid.T) match.Pool {
		if rapid.Bool().Draw(t, "fitting") {
			return Fitting(Fields().Draw(t, "fields")).Draw(t, "pool")
		}
		// Independent of any fields: such pools hold few of them, by chance.
		return match.Pool{
			Doubles:       rapid.SliceOfN(doubleRanges(names), 0, 2).Draw(t, "doubles"),
			Strings:       rapid.SliceOfN(stringFilters(), 0, 2).Draw(t, "strings"),
			Tags:          rapid.SliceOfN(texts, 0, 2).Draw(t, "tags"),
			CreatedBefore: rapid.Ptr(bounds, true).Draw(t, "created_before"),
			CreatedAfter:  rapid.Ptr(bounds, true).Draw(t, "created_after"),
		}
	})
}

// Fitting generates pools that often hold the fields: their strings and tags are some of the fields', and their ranges,
// with random ends, are of doubles that are among the fields.
func Fitting(f match.Fields) *rapid.Generator[match.Pool] {
	return rapid.Custom(func(t *rapid.T) match.Pool {
		var p match.Pool
		for _, arg := range drawSome(t, "doubles", sortedKeys(f.Doubles)) {
			r := doubleRanges(rapid.Just(arg)).Draw(t, "range")
			// Half of the ranges have no ends: else few pools with several ranges would hold the fields.
			if rapid.Bool().Draw(t, "wide") {
				r.Min, r.Max = math.Inf(-1), math.Inf(1)
			}
			p.Doubles = append(p.Doubles, r)
		}
		for _, arg := range drawSome(t, "strings", sortedKeys(f.Strings)) {
			p.Strings = append(p.Strings, match.StringEquals{Arg: arg, Value: f.Strings[arg]})
		}
		p.Tags = drawSome(t, "tags", f.Tags)
		if rapid.Bool().Draw(t, "after") {
			p.CreatedAfter = rapid.Ptr(bounds, true).Draw(t, "created_after")
		}
		return p
	})
}

// doubleRanges generates ranges of a double, with any ends and any way to exclude them.
func doubleRanges(arg *rapid.Generator[string]) *rapid.Generator[match.DoubleRange] {
	return rapid.Custom(func(t *rapid.T) match.DoubleRange {
		return match.DoubleRange{
			Arg: arg.Draw(t, "arg"), Min: numbers.Draw(t, "min"), Max: numbers.Draw(t, "max"),
			Exclude: excludes.Draw(t, "exclude"),
		}
	})
}

// stringFilters generates filters of strings.
func stringFilters() *rapid.Generator[match.StringEquals] {
	return rapid.Custom(func(t *rapid.T) match.StringEquals {
		return match.StringEquals{Arg: names.Draw(t, "arg"), Value: texts.Draw(t, "value")}
	})
}

// drawSome returns a random subset of the elements.
func drawSome[E any](t *rapid.T, label string, all []E) (kept []E) {
	for _, e := range all {
		if rapid.Bool().Draw(t, label) {
			kept = append(kept, e)
		}
	}
	return kept
}

// sortedKeys returns the keys of a map in a fixed order, so that a failure can be reproduced.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
