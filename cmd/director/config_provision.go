package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/docker"
	processes "github.com/lattice-director/director/provider/process"
)

// provisionSettings returns the settings of what starts game servers.
func (c *Config) provisionSettings() []setting {
	return slices.Concat([]setting{
		{flag: "providers", section: sectionProvision, start: true, commands: byCallers,
			value: providersValue(&c.ProviderNames),
			help: "The providers through which this worker starts game servers; it leaves the deployments of others to " +
				"other workers. manual is for servers that people start. `director dev` has process and manual by " +
				"default. Set it only when no replica of an older release runs any more"},
		{flag: "provision-owner", section: sectionProvision, fleetWide: true, start: true, commands: byCallers,
			value: ownerValue(&c.ProvisionOwner),
			help: "Names this installation at its providers. The director stops game servers that have its name and are " +
				"not in its database, so two installations, such as production and a copy of its database, need " +
				"different names. Required, except with process and manual alone"},
		{flag: "public-url", section: sectionProvision, start: true, commands: byCallers | byDeploy,
			value: urlValue(&c.PublicURL),
			help: "Where game servers and providers reach the replicas. Required, except with process alone: its " +
				"servers are on this machine and use the address of the API"},
		{flag: "advertise", section: sectionProvision, commands: byCallers,
			value: advertisedAddressValue(&c.Docker.Advertise, &c.Processes.Advertise),
			help: "The address at which players reach game servers on this machine, those of docker and process. With a " +
				"loopback address, ports of containers are published only there"},
		// The deployments of a worker that was killed wait for three times this, and tests with them.
		{flag: "provision-timeout", section: sectionProvision, unlisted: true, commands: byCallers,
			value: durationValue(&c.ProvisionTimeout, time.Second, 2*time.Minute),
			help:  "How long a call of a provider may take"},
	}, c.edgegapSettings(), c.dockerSettings(), c.processProviderSettings(), c.agonesSettings())
}

func (c *Config) edgegapSettings() []setting {
	return []setting{
		{flag: "edgegap-token", aliases: []string{"EDGEGAP_API_KEY"}, section: sectionProvision, secret: true,
			commands: byCallers,
			value:    apiKeyValue(&c.Edgegap.Token),
			help: "The key of Edgegap's API, with or without the word token before it. It gives access to the whole " +
				"organisation"},
		{flag: "edgegap-url", section: sectionProvision, commands: byCallers, value: urlValue(&c.Edgegap.URL),
			help: "Edgegap's API, if it is not https://api.edgegap.com"},
	}
}

// agonesSettings returns the settings of Agones: its allocator, which starts servers, and Kubernetes, which is optional
// and finds and ends them.
func (c *Config) agonesSettings() []setting {
	return []setting{
		{flag: "agones-url", section: sectionProvision, commands: byCallers, value: urlValue(&c.Agones.URL),
			help: "Agones' allocator, over https"},
		{flag: "agones-namespace", section: sectionProvision, commands: byCallers,
			value: textValue(&c.Agones.Namespace, "a namespace of Kubernetes"),
			help:  "The namespace of the fleets"},
		{flag: "agones-cert", section: sectionProvision, commands: byCallers,
			value: textValue(&c.Agones.Cert, "a PEM file"),
			help:  "The client certificate that the allocator accepts. It may be renewed while the director runs"},
		{flag: "agones-key", section: sectionProvision, commands: byCallers,
			value: textValue(&c.Agones.Key, "a PEM file"),
			help:  "The private key of this certificate"},
		{flag: "agones-ca", section: sectionProvision, commands: byCallers,
			value: textValue(&c.Agones.CA, "a PEM file"),
			help:  "The authority that signed the allocator's certificate"},
		{flag: "agones-kube-url", section: sectionProvision, commands: byCallers, value: urlValue(&c.Agones.Kube.URL),
			help: "The API of Kubernetes, over https, which finds and deletes game servers. Not set: a server ends by " +
				"itself once the director refuses it, and one whose allocation was not answered stays allocated"},
		{flag: "agones-kube-token", section: sectionProvision, commands: byCallers,
			value: textValue(&c.Agones.Kube.Token, "a file"),
			help: "The token of a service account that may get, list and delete gameservers and get fleets in the " +
				"namespace. It may be renewed"},
		{flag: "agones-kube-ca", section: sectionProvision, commands: byCallers,
			value: textValue(&c.Agones.Kube.CA, "a PEM file"),
			help:  "The authority that signed the certificate of Kubernetes"},
	}
}

// dockerSettings returns the settings of one Docker engine. Its images are a setting: a declaration in the database
// must not choose what runs.
func (c *Config) dockerSettings() []setting {
	return []setting{
		{flag: "docker-host", section: sectionProvision, commands: byCallers, value: dockerHostValue(&c.Docker.Host),
			help: "The Docker engine that runs game servers. A process that reaches it controls its host, and tcp is " +
				"neither encrypted nor authenticated"},
		{flag: "docker-images", section: sectionProvision, commands: byCallers,
			value: listValue(&c.Docker.Images, "repositories, or images with a tag or digest"),
			help: "The images that may be started. An app version names one of them. The engine must have them: nothing " +
				"is pulled"},
		{flag: "docker-advertise", section: sectionProvision, replacedBy: "DIRECTOR_ADVERTISE", commands: byCallers,
			value: ipAddressValue(&c.Docker.Advertise), help: "The address at which players reach the containers"},
	}
}

// processProviderSettings returns the settings of servers that are processes of this machine. As the images of docker,
// the commands and the names of variables are settings, and not declared in the database.
func (c *Config) processProviderSettings() []setting {
	return []setting{
		{flag: "process-commands", section: sectionProvision, commands: byCallers,
			value: commandsValue(&c.Processes.Commands),
			help: "The game servers that may run as processes of this machine. An app version names one of them, and " +
				"cannot add arguments. ${NAME} in an argument is replaced by that variable of the server, such as " +
				"${LATTICE_PORT_GAME}. `director dev` allows arena, if it finds it"},
		{flag: "process-variables", section: sectionProvision, commands: byCallers,
			value: variableNamesValue(&c.Processes.Variables),
			help: "The variables that app versions may set for them; GAME_* allows all that begin with GAME_. Others " +
				"are refused, because an interpreter or a library may run code that a variable names"},
		{flag: "process-user", section: sectionProvision, commands: byCallers, value: userNameValue(&c.Processes.User),
			help: "The user that they run as, if the director runs as root. Not set: the user of the director"},
		{flag: "process-dir", section: sectionProvision, commands: byCallers,
			value: textValue(&c.Processes.Dir, "a directory"),
			help: "The directory of their state and logs. Not set: servers in the directory of `director dev`, see " +
				"DIRECTOR_DATA, or /var/lib/director for root"},
		{flag: "process-ports", section: sectionProvision, commands: byCallers,
			value: portRangeValue(&c.Processes.PortMin, &c.Processes.PortMax),
			help:  "The ports that they get"},
		{flag: "process-advertise", section: sectionProvision, replacedBy: "DIRECTOR_ADVERTISE", commands: byCallers,
			value: ipAddressValue(&c.Processes.Advertise), help: "The address at which players reach them"},
	}
}

// providersValue is a list of providers, or "none": an empty variable counts as not set, and dev has a default.
func providersValue(p *[]string) value {
	v := value{kindName: "list", allowedText: "none, or " + strings.Join(providerNames, ", ") + ", comma-separated"}
	v.showText = func() string { return cmp.Or(strings.Join(*p, ","), "none") }
	v.setText = func(text string) error {
		*p = nil
		if text == "none" {
			return nil
		}
		// Unknown names are refused: a misspelt one would leave the deployments of its pools to nobody.
		for _, name := range splitList(text) {
			if !slices.Contains(providerNames, name) {
				return v.requireAllowed(false)
			}
			*p = append(*p, name)
		}
		// Sorted and without doubles: each provider is opened once, and --print-config shows equal sets alike.
		slices.Sort(*p)
		*p = slices.Compact(*p)
		return v.requireAllowed(len(*p) > 0)
	}
	return v
}

// ownerValue is the name of the installation. It is short, because the owner is a part of the names that providers
// bound; see provider.OwnerOf.
func ownerValue(p *string) value {
	return checkedText(p, "text", "1 to 17 of a-z, 0-9 and -, with a letter or digit at its end",
		func(text string) bool {
			_, err := provider.OwnerOf(text)
			return err == nil
		})
}

func dockerHostValue(p *string) value {
	return checkedText(p, "text", "unix:///path or tcp://host:port", docker.ValidHost)
}

// ipAddressValue is an address that players can dial: neither 0.0.0.0, nor one with a zone, which means something on
// one machine only.
func ipAddressValue(p *netip.Addr) value {
	v := value{kindName: "address", allowedText: "an IP address", showText: func() string { return addrText(*p) }}
	v.setText = func(text string) (err error) {
		*p, err = netip.ParseAddr(text)
		return v.requireAllowed(err == nil && p.Zone() == "" && !p.IsUnspecified())
	}
	return v
}

// advertisedAddressValue is one address for the servers of docker and of process.
func advertisedAddressValue(docker, process *netip.Addr) value {
	v := ipAddressValue(process)
	setProcess := v.setText
	v.setText = func(text string) error {
		err := setProcess(text)
		*docker = *process
		return err
	}
	return v
}

// addrText returns "" for the zero Addr, whose own text would be "invalid IP".
func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// portRangeValue is an inclusive range. Ports below 1024 are for services of the system.
func portRangeValue(first, last *uint16) value {
	v := value{kindName: "range", allowedText: "FIRST-LAST, of 1024 to 65535"}
	v.showText = func() string { return fmt.Sprintf("%d-%d", *first, *last) }
	v.setText = func(text string) error {
		from, to, _ := strings.Cut(text, "-")
		lowest, notLowest := strconv.ParseUint(from, 10, 16)
		highest, notHighest := strconv.ParseUint(to, 10, 16)
		// A refused range is assigned as well: the command then does not run.
		*first, *last = uint16(lowest), uint16(highest)
		return v.requireAllowed(errors.Join(notLowest, notHighest) == nil && lowest >= 1024 && lowest <= highest)
	}
	return v
}

// commandsText returns commands and their arguments, by name, as a flag has them.
func commandsText(commands map[string][]string) string {
	items := make([]string, 0, len(commands))
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		items = append(items, name+"="+strings.Join(commands[name], " "))
	}
	return strings.Join(items, ";")
}

// variableNamesValue are names of variables, or their beginnings with a star.
func variableNamesValue(p *[]string) value {
	return listValue(p, "names of variables, such as MAP or GAME_*").checkedItems(p, variableName.MatchString)
}

// variableName matches a name, or a beginning of names with a star at its end.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\*?$`)

// userNameValue is a user of this machine. UID:GID need not be listed on the machine. root is refused.
func userNameValue(p **processes.User) value {
	given := "" // the text of the setting, for --print-config
	v := value{kindName: "user", allowedText: "the name of a user of this machine, or UID:GID",
		showText: func() string { return given }}
	v.setText = func(text string) error {
		given = text
		uid, gid, numeric := strings.Cut(text, ":")
		if !numeric {
			found, err := user.Lookup(text)
			if err != nil {
				return v.requireAllowed(false)
			}
			uid, gid = found.Uid, found.Gid
		}
		// user.Lookup returns the numbers as texts, too.
		u, notUser := strconv.ParseUint(uid, 10, 32)
		g, notGroup := strconv.ParseUint(gid, 10, 32)
		*p = &processes.User{UID: uint32(u), GID: uint32(g)}
		return v.requireAllowed(errors.Join(notUser, notGroup) == nil && u != 0)
	}
	return v
}

// commandName matches what app versions may call a command: one word, which no list or flag splits.
var commandName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// commandsValue is separated by semicolons, because arguments contain commas. No shell reads the commands: spaces
// separate arguments, and nothing quotes them.
func commandsValue(p *map[string][]string) value {
	v := value{
		kindName:    "list",
		allowedText: "NAME=/path ARGUMENT…, several separated by semicolons; spaces separate arguments",
		showText:    func() string { return commandsText(*p) },
	}
	v.setText = func(text string) error {
		*p = map[string][]string{}
		for item := range strings.SplitSeq(text, ";") {
			name, line, _ := strings.Cut(item, "=")
			// White space around a name comes from settings on several lines; within an argument it separates.
			name = strings.TrimSpace(name)
			argv := strings.Fields(line)
			_, twice := (*p)[name]
			// Absolute, so that neither PATH nor the working directory decides what runs.
			if !commandName.MatchString(name) || len(argv) == 0 || !filepath.IsAbs(argv[0]) || twice {
				return fmt.Errorf("%q: %w", strings.TrimSpace(item), v.requireAllowed(false))
			}
			(*p)[name] = argv
		}
		return nil
	}
	return v
}
