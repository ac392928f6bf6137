package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/token"
)

// dataDir is the directory in which `director dev` keeps its persistent data: its Postgres (see package pglocal), and
//
//	issuer.jwk           the private key that signs players' access tokens
//	key-encryption-key   seals the private signing keys in its database
//	agent-key            that Rivalis agents connect with
//	admin-key            of the callers of the API for Rivalis
//	console-token        with which the console is opened
//	servers/             the game servers that run as processes of this machine
//
// and for other commands, while dev runs,
//
//	database-url         the database's URL
//	hints                what `director dev hints` prints
//	providers.json       the providers that start game servers
type dataDir string

// findDataDir returns the directory of the settings, or the default one.
func (c *Config) findDataDir() (dataDir, error) {
	if c.DataDir != "" {
		path, err := filepath.Abs(c.DataDir)
		return dataDir(path), err
	}
	path, err := pglocal.DefaultDir()
	return dataDir(path), err
}

// pathOf makes the paths of all files: the comment of dataDir lists them.
func (d dataDir) pathOf(name string) string { return filepath.Join(string(d), name) }

// The files whose names two functions need.
const (
	issuerFile = "issuer.jwk"
	kekFile    = "key-encryption-key"
)

func (d dataDir) issuerKey() string { return d.pathOf(issuerFile) }

// create creates the directory, unless it exists. Other users may traverse it, as Postgres must when it runs as another
// user, and cannot read the files in it.
func (d dataDir) create() error { return os.MkdirAll(string(d), 0o711) }

// ensureIssuer returns the development issuer, and creates its key if there is none.
func (d dataDir) ensureIssuer() (devlogin.Issuer, error) {
	// Made in any case, and dropped if there is a key: createOnce decides.
	fresh, err := devlogin.New()
	if err != nil {
		return devlogin.Issuer{}, err
	}
	if err := d.createOnce(issuerFile, fresh.JWK()); err != nil {
		return devlogin.Issuer{}, err
	}
	return devlogin.Read(d.issuerKey())
}

// ensureKEKs returns the key-encryption keys, and creates one if there is none.
func (d dataDir) ensureKEKs() ([][]byte, error) {
	fresh := make([]byte, token.KEKBytes)
	_, _ = rand.Read(fresh) // documented never to fail
	if err := d.createOnce(kekFile, []byte(base64.StdEncoding.EncodeToString(fresh)+"\n")); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(d.pathOf(kekFile))
	if err != nil {
		return nil, err
	}
	keks, err := token.ParseKEKs(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.pathOf(kekFile), err)
	}
	return keks, nil
}

// ensureSecret returns the secrets of a file, and creates one if there is none.
func (d dataDir) ensureSecret(name string) ([]string, error) {
	// As long as those that the help of the settings recommends: openssl rand -hex 24.
	fresh := make([]byte, 24)
	_, _ = rand.Read(fresh) // documented never to fail
	if err := d.createOnce(name, []byte(hex.EncodeToString(fresh)+"\n")); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(d.pathOf(name))
	return splitList(string(text)), err
}

// createOnce writes a file that only its owner may read, unless it exists. Of two concurrent calls one wins, and a
// reader never sees a partial file.
func (d dataDir) createOnce(name string, content []byte) error {
	if _, err := os.Stat(d.pathOf(name)); err == nil {
		return nil
	}
	draft, err := os.CreateTemp(string(d), name+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	_, err = draft.Write(content)
	// Synced, because the key encrypts what the database keeps: it must survive a crash if the database does.
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	// A link and not a rename: a rename would replace the file of a faster call.
	if err := os.Link(draft.Name(), d.pathOf(name)); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// The files that a running `director dev` has for other commands.
const (
	urlFile       = "database-url"
	hintsFile     = "hints"
	providersFile = "providers.json"
)

// publishDatabase writes the database's URL for other commands on this machine. The returned function removes the file.
func (d dataDir) publishDatabase(url string) (retract func(), err error) {
	return d.publishFile(urlFile, []byte(url+"\n"))
}

// publishHints writes what `director dev hints` prints. The returned function removes the file.
func (d dataDir) publishHints(text string) (retract func(), err error) {
	return d.publishFile(hintsFile, []byte(text))
}

// devProviders are the providers of a `director dev`, with the commands of those that run processes.
type devProviders struct {
	Providers []string            `json:"providers"`
	Commands  map[string][]string `json:"commands"`
}

// publishProviders writes the providers for commands in other terminals, which lack the settings of dev. The returned
// function removes the file.
func (d dataDir) publishProviders(p devProviders) (retract func(), err error) {
	text, err := json.Marshal(p)
	if err != nil {
		return func() {}, err
	}
	return d.publishFile(providersFile, text)
}

// publishFile writes a file that only its owner may read, since a database's URL lets anybody in. The returned function
// removes the file. A `director dev` that is killed leaves the file, and the next one replaces it.
func (d dataDir) publishFile(name string, content []byte) (retract func(), err error) {
	if err := os.WriteFile(d.pathOf(name), content, 0o600); err != nil {
		return func() {}, err
	}
	return func() { _ = os.Remove(d.pathOf(name)) }, nil
}

// runningHints returns the hints of a `director dev` that runs in this directory.
func (d dataDir) runningHints() (string, error) {
	text, err := os.ReadFile(d.pathOf(hintsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", cli.Usage(fmt.Errorf("no 'director dev' runs in %s", d))
	}
	return string(text), err
}

// runningProviders returns the providers of a `director dev` that runs in this directory; none, if none runs.
func (d dataDir) runningProviders() (p devProviders, err error) {
	text, err := os.ReadFile(d.pathOf(providersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	err = json.Unmarshal(text, &p)
	return p, err
}

// runningDatabase returns the database's URL of a `director dev` that runs in this directory.
func (d dataDir) runningDatabase() (string, error) {
	text, err := os.ReadFile(d.pathOf(urlFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", cli.Usage(fmt.Errorf("there is no database: DATABASE_URL is not set, and no 'director dev' runs in %s", d))
	}
	return strings.TrimSpace(string(text)), err
}
