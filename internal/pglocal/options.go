package pglocal

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// AnyPort, as [Options.TCPPort], picks a port that is free at the moment and keeps it over restarts.
const AnyPort = -1

// Options says which cluster to run and how. Only Dir is required.
type Options struct {
	// Dir holds everything of the cluster; it is created when missing. Relative paths are made absolute.
	Dir string
	// Durable clusters keep what they acknowledged through a crash of Postgres or of the machine. Others trade that
	// for speed with [ThrowawaySettings].
	Durable bool
	// TCPPort makes the server listen on 127.0.0.1 too, with a password; see [Cluster.TCPURL]. Zero: Unix socket only.
	TCPPort int
	// Settings are server settings (postgresql.conf names) that win over all others but where it listens.
	Settings map[string]string
	// Binaries is the installation to use. The zero value takes what [Find] finds, preferring the version that made the
	// data directory.
	Binaries Binaries
	// Log gets a line when the server starts and stops. Nil is silent.
	Log *slog.Logger
}

// ThrowawaySettings is what makes a server fast whose data nobody will miss after a crash of the machine. A crash of
// Postgres alone loses nothing it acknowledged: commits still wait until the kernel has their log.
func ThrowawaySettings() map[string]string {
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
		// In the data directory, where it goes away with the rest.
		"dynamic_shared_memory_type": "mmap",
		// An immediate stop waits for connections that have not said who they are, such as one behind a cut proxy.
		"authentication_timeout": "3s",
	}
}

func durableSettings() map[string]string {
	return map[string]string{"max_connections": "200"}
}

// arguments are the command line of postgres: a setting given there wins over the files of the data directory.
func (o Options) arguments(at layout, port int) []string {
	settings := durableSettings()
	if !o.Durable {
		settings = ThrowawaySettings()
	}
	maps.Copy(settings, o.Settings)
	settings["listen_addresses"] = ""
	if o.TCPPort != 0 {
		settings["listen_addresses"] = "127.0.0.1"
	}
	settings["unix_socket_directories"] = quoteListItem(at.socket)
	args := []string{"-D", at.data, "-p", itoa(port)}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// DefaultDir is where `director dev` keeps its cluster: /var/lib/director for root, whose home Postgres could not enter;
// else ~/Library/Application Support/director on macOS, and $XDG_STATE_HOME/director or ~/.local/state/director.
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
