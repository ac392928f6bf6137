package pglocal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// longestSocket is what a Unix socket's path may measure where it may measure least, macOS: 104 bytes with the closing
// NUL.
const longestSocket = 103

// layout is where a cluster keeps its files.
type layout struct {
	dir, data, partial, socket, lock, password, log string
}

func layoutOf(dir string) (layout, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, err
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	return layout{
		dir: dir, data: in("data"), partial: in("data.partial"), socket: socketDir(dir),
		lock: in("lock"), password: in("password"), log: in("postgres.log"),
	}, nil
}

// socketDir is dir/run, or a directory of the temporary directory that is always the same for the same dir.
func socketDir(dir string) string {
	run := filepath.Join(dir, "run")
	if len(filepath.Join(run, ".s.PGSQL.65535")) <= longestSocket {
		return run
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(os.TempDir(), fmt.Sprintf("director-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:6])))
}

// socketURL addresses a database over the socket, as the superuser.
func (l layout) socketURL(database string, port int) string {
	query := url.Values{"host": {l.socket}, "port": {itoa(port)}, "user": {superuser}, "sslmode": {"disable"}}
	// pgx takes a "+" for itself: the default directory of macOS has a space in it.
	spaces := strings.ReplaceAll(query.Encode(), "+", "%20")
	u := url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: spaces, OmitHost: false}
	return u.String()
}

// tcpURL addresses a database over TCP, as the superuser, password included.
func (l layout) tcpURL(database string, port int, password string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, password), Host: "127.0.0.1:" + itoa(port),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// quoteListItem protects spaces and commas in one item of a list setting.
func quoteListItem(item string) string { return `"` + strings.ReplaceAll(item, `"`, `""`) + `"` }

func itoa(n int) string { return strconv.Itoa(n) }
