// Package edgegaptest is a fake of Edgegap's API that misbehaves on request: it loses answers, is slow, refuses, and
// lists late. It is plain Go without package testing, so that benchmarks can use it, too.
//
// It is strict where the API is strict: a request that the API would refuse is refused, and one that exceeds a rate
// limit is counted in [Fake.Violations].
package edgegaptest
