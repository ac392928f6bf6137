package pglocal

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// AnyPort is an [Options.TCPPort]: a port that is free at the first start, and the same after a restart.
const AnyPort = -1

// Options configure a cluster. Only Dir is required.
type Options struct {
	// Dir is the directory of the cluster. It is created if it does not exist. A relative path is made absolute.
	Dir string
	// Durable clusters keep committed transactions through a crash of Postgres or of the machine. Others have
	// [ThrowawaySettings], which are faster.
	Durable bool
	// TCPPort makes the server also listen on 127.0.0.1, with a password; see [Cluster.TCPURL]. 0: only on the Unix
	// socket.
	TCPPort int
	// Settings are server settings by their postgresql.conf names. They replace all others except the listen addresses.
	Settings map[string]string
	// Binaries is the installation to use. Zero: one of the version that made the data directory, or that of [Find].
	Binaries Binaries
	// Log gets a line when the server has started or does not stop in time; nil logs nothing.
	Log *slog.Logger
}

// ThrowawaySettings returns settings of a fast server whose data may be lost in a crash of the machine. A crash of
// Postgres alone loses no committed transaction, because a commit still waits until the kernel has its write-ahead log.
func ThrowawaySettings() map[string]string {
	// Postgres does not start with wal_level minimal unless max_wal_senders is 0.
	return map[string]string{
		"fsync":              "off",
		"full_page_writes":   "off",
		"wal_level":          "minimal",
		"max_wal_senders":    "0",
		"autovacuum":         "off",
		"jit":                "off",
		"max_connections":    "400",
		"max_wal_size":       "1GB",
		"checkpoint_timeout": "1h",
		// In the data directory, so that it is deleted with it.
		"dynamic_shared_memory_type": "mmap",
		// An immediate stop waits for connections that have not authenticated, for example behind a proxy that forwards
		// nothing.
		"authentication_timeout": "3s",
	}
}

func durableSettings() map[string]string {
	return map[string]string{"max_connections": "200"}
}

// serverArguments returns the command line of postgres, whose settings have precedence over the files of the data
// directory.
func (o Options) serverArguments(at layout, port int) []string {
	settings := durableSettings()
	if !o.Durable {
		settings = ThrowawaySettings()
	}
	maps.Copy(settings, o.Settings)
	settings["listen_addresses"] = ""
	if o.TCPPort != 0 {
		settings["listen_addresses"] = "127.0.0.1"
	}
	// After the caller's settings: the URLs of the cluster name this directory.
	settings["unix_socket_directories"] = quoteListItem(at.socketDir)
	args := []string{"-D", at.dataDir, "-p", itoa(port)}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// DefaultDir returns the default directory of `director dev`: /var/lib/director for root, because Postgres could not
// enter root's home; else $XDG_STATE_HOME/director if that is set, ~/Library/Application Support/director on macOS, and
// ~/.local/state/director elsewhere.
func DefaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/director", nil
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "director"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "director"), nil
	}
	return filepath.Join(home, ".local", "state", "director"), nil
}
