// Package nodetest runs scripts with Node.js, for tests that compare the director with clients written in JavaScript.
// Tests that need it have names that begin with TestNode, and their package has a TestMain that calls Prepare.
package nodetest

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/toolstest"
)

// usualLocale decides what localeCompare does in a script that asks for no other locale.
const usualLocale = "en_US.UTF-8"

// modules is the directory of the packages that Prepare or PrepareFor installed; "" if there is no Node.js.
var modules string

// Prepare is what a TestMain calls first: it installs the packages that this package pins, unless an earlier test
// process has. Where Node.js or the packages are missing and cannot be installed, it says so on stderr and leaves out
// the tests that need them; in CI it ends the process.
func Prepare() { prepare(pinnedFiles{ownManifest, ownLock}) }

// PrepareFor is like Prepare, with the packages of a folder that has a package.json and a package-lock.json.
func PrepareFor(dir string) {
	pinned, err := readPinned(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	prepare(pinned)
}

func prepare(pinned pinnedFiles) {
	// LeaveOut changes a flag, which a later parse would set again.
	flag.Parse()
	var err error
	modules, err = installPackages(context.Background(), pinned)
	toolstest.LeaveOut(err, "^TestNode", "Node.js (run ops/install-node.sh)")
}

// Modules returns the directory of the packages that Prepare or PrepareFor installed.
func Modules() string { return modules }

// File returns the text of a file of the installed packages, such as axe-core/axe.min.js.
func File(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(modules, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(text)
}

// Script is a running script that answers each line of JSON with one.
type Script struct {
	requests *json.Encoder
	answers  *json.Decoder
}

// Start starts a script of CommonJS, which ends with the test. The script must define a function answer(request), which
// returns the answer or a promise of the answer. It runs in the given locale, such as da_DK.UTF-8, or else in en_US.
func Start(t testing.TB, script string, locale ...string) *Script {
	t.Helper()
	language := usualLocale
	if len(locale) > 0 {
		language = locale[0]
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // a script that hangs fails the test
	command := exec.CommandContext(ctx, "node", "-e", script+answerLoop)
	command.Env = append(os.Environ(), "NODE_PATH="+modules, "LC_ALL="+language)
	command.Stderr = t.Output()
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		// The script ends with its input.
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = command.Wait()
		cancel()
	})
	encoder := json.NewEncoder(in)
	encoder.SetEscapeHTML(false)
	return &Script{encoder, json.NewDecoder(bufio.NewReader(out))}
}

// answerLoop writes what answer returns for each line of the input.
const answerLoop = `
require('readline').createInterface({input: process.stdin}).on('line', async line => console.log(JSON.stringify(await answer(JSON.parse(line)))));`

// Ask sends a request and decodes the answer, which is a pointer. It is not safe for concurrent use.
func (s *Script) Ask(t require.TestingT, request, answer any) {
	require.NoError(t, s.requests.Encode(request))
	require.NoError(t, s.answers.Decode(answer))
}
