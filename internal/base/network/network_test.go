package network

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseOrAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.1.0.0/16":         "10.1.0.0/16",
		"10.1.7.7/16":         "10.1.0.0/16",
		"10.1.2.3":            "10.1.2.3/32",
		"2001:db8::1/32":      "2001:db8::/32",
		"fd12::1%eth0":        "fd12::1/128",
		"::/0":                "::/0",
		"::ffff:10.1.2.3":     "10.1.2.3/32",
		"::ffff:10.1.7.7/112": "10.1.0.0/16",
		"::ffff:0:0/96":       "0.0.0.0/0",
	} {
		got, err := ParseOrAddress(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got.String(), text)
	}
	for _, text := range []string{"", "x", "10.0.0.0/33", "::ffff:10.1.0.0/95", "10.0.0.1:80"} {
		_, err := ParseOrAddress(text)
		require.Error(t, err, text)
	}
}

// Host bits stay, so that a caller can refuse them.
func TestParseKeepsHostBits(t *testing.T) {
	t.Parallel()
	got, err := Parse("::ffff:10.1.0.1/112")
	require.NoError(t, err)
	require.Equal(t, "10.1.0.1/16", got.String())
	_, err = Parse("10.1.0.1")
	require.Error(t, err)
}
