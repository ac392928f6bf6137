// Package variant makes the values of a test that differ from a usual one in what the test is about.
package variant

// Apply returns the usual value after these changes, which are made in order. What the value points to is not copied.
func Apply[T any](usual T, changes ...func(*T)) T {
	for _, change := range changes {
		change(&usual)
	}
	return usual
}
