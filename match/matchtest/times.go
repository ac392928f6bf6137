package matchtest

import "github.com/lattice-director/director/match"

// timeCases returns cases about the two bounds of create_time, which are exclusive and have nanoseconds, for a ticket
// created at one time.
func timeCases() (cases []Case) {
	created := match.Moment{Seconds: 1_790_000_000, Nanos: 123_456_789}
	for _, c := range []struct {
		name              string
		bound             match.Moment
		isBefore, isAfter bool // whether the ticket matches created_before, created_after
	}{
		{"equal", created, false, false},
		{"a nanosecond later", match.Moment{Seconds: created.Seconds, Nanos: created.Nanos + 1}, true, false},
		{"a nanosecond earlier", match.Moment{Seconds: created.Seconds, Nanos: created.Nanos - 1}, false, true},
		{"in the same microsecond, later", match.Moment{Seconds: created.Seconds, Nanos: 123_456_999}, true, false},
		{"in the same microsecond, earlier", match.Moment{Seconds: created.Seconds, Nanos: 123_456_000}, false, true},
		{"a second later, with less of it gone", match.Moment{Seconds: created.Seconds + 1}, true, false},
		{"a second earlier, with more of it gone", match.Moment{Seconds: created.Seconds - 1, Nanos: 999_999_999},
			false, true},
		{"in 1970", match.Moment{}, false, true},
		{"before 1970", match.Moment{Seconds: -1, Nanos: 500_000_000}, false, true},
		// The bounds of a protobuf Timestamp: the years 1 and 9999.
		{"the earliest there is", match.Moment{Seconds: -62135596800}, false, true},
		{"the latest there is", match.Moment{Seconds: 253402300799, Nanos: 999_999_999}, true, false},
		{"earlier than 64 bits of nanoseconds reach", match.Moment{Seconds: -9223372037}, false, true},
		{"later than 64 bits of nanoseconds reach", match.Moment{Seconds: 9223372036, Nanos: 999_999_999}, true, false},
	} {
		// Each bound alone; both together below.
		f := match.Fields{Created: created}
		cases = append(cases,
			Case{"created_before " + c.name, match.Pool{CreatedBefore: &c.bound}, f, c.isBefore},
			Case{"created_after " + c.name, match.Pool{CreatedAfter: &c.bound}, f, c.isAfter})
	}
	earlier := match.Moment{Seconds: created.Seconds, Nanos: created.Nanos - 1}
	later := match.Moment{Seconds: created.Seconds, Nanos: created.Nanos + 1}
	return append(cases,
		Case{"created between two nanoseconds", match.Pool{CreatedBefore: &later, CreatedAfter: &earlier},
			match.Fields{Created: created}, true},
		Case{"created between, the wrong way round", match.Pool{CreatedBefore: &earlier, CreatedAfter: &later},
			match.Fields{Created: created}, false})
}
