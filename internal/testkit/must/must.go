// Package must takes the value of a call that has to succeed.
package must

import "github.com/stretchr/testify/require"

// Get fails the test if a call has failed, and returns its value otherwise:
//
//	server := must.Get(store.Register(ctx, registration))(t)
//
// It returns a function that takes the test, because Go passes the results of a call only to a function that takes
// nothing else.
func Get[V any](v V, err error) func(require.TestingT) V {
	return func(t require.TestingT) V {
		// TestingT does not demand Helper, so that also values without it may be passed.
		if helper, hasHelper := t.(interface{ Helper() }); hasHelper {
			helper.Helper()
		}
		require.NoError(t, err)
		return v
	}
}
