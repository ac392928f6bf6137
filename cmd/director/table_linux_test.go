package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// onTerminal runs a command on a terminal of that many columns, and returns its output there and on stderr.
func onTerminal(t *testing.T, columns uint16, environ []string, args ...string) (stdout, stderr string) {
	t.Helper()
	master := must.Get(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))(t)
	defer func() { _ = master.Close() }()
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number := must.Get(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	slave := must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	require.NoError(t, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: columns}))

	shown := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(master) // EIO when the last writer closes
		shown <- strings.ReplaceAll(string(text), "\r\n", "\n")
	}()
	var notes bytes.Buffer
	require.NoError(t, Run(t.Context(), args, environ, strings.NewReader(""), slave, &notes), notes.String())
	require.NoError(t, slave.Close())
	return <-shown, notes.String()
}

// Pins tables that are wider than a terminal of 100 columns, and ids that are shortened and cannot be pasted.
func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK), storetest.OnDatabase(t, url)
	s.AddServer("eu-west-arena-production-0042", 8)
	p, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	director.OK(t, environ, "keys", "rotate")

	for _, c := range []struct{ args, id, left string }{
		{"fleet list", "eu-west-arena-production-0042", "load"},
		{"sessions list", p.SessionID, "connected"},
		{"sessions show " + p.SessionID, p.SessionID, "alive"},
		{"keys list", "", "alg"},
	} {
		table, notes := onTerminal(t, 100, environ, strings.Fields(c.args)...)
		require.LessOrEqual(t, longestLine(table), 100, table)
		require.Contains(t, table, c.id)
		require.NotContains(t, table, strings.ToUpper(c.left), c.args)
		require.Contains(t, notes, "(omitted, the terminal is too narrow: ")
		wide, notes := onTerminal(t, 100, environ, append(strings.Fields(c.args), "--wide")...)
		require.Contains(t, wide, strings.ToUpper(c.left))
		require.Empty(t, notes)
	}
	require.Contains(t, director.OK(t, environ, "fleet", "list"), "LOAD", "a piped table has all columns")
}
