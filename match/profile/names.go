package profile

import (
	"regexp"
	"time"
)

var (
	// The name stands in URLs as it is, such as /ops/profiles/NAME.
	profileName = text{regexp.MustCompile(`^[a-z0-9-]{1,64}$`), "a name of 1 to 64 lowercase letters, digits and hyphens"}
	modeName    = text{regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`), "a mode of 1 to 64 letters, digits, dots, " +
		"hyphens and underscores"}
	regionName = text{regexp.MustCompile(`^[a-z0-9-]{1,32}$`), "a region of 1 to 32 lowercase letters, digits and " +
		"hyphens"}
	teamName = text{regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`), "a name of 1 to 64 letters, digits, hyphens and " +
		"underscores"}
	// An IPv6 address has colons, and no brackets: the port is a key of its own.
	hostName = text{regexp.MustCompile(`^([A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45})$`), "a host name or an IP " +
		"address, without port"}
	playerRange = text{regexp.MustCompile(`^[0-9]{1,4}\.\.[0-9]{1,4}$`), "a range such as 3..5"}

	// As many names as a list may have: see maxClaimPath.
	claimPath = text{regexp.MustCompile(`^[^\x00-\x1f.]{1,64}(\.[^\x00-\x1f.]{1,64}){0,7}$`), "up to 8 names of 1 to 64 " +
		"characters, with dots between them"}

	attributeName = nameText("an attribute")
	roleName      = nameText("a role")
)

// nameText is a label that says what it names.
func nameText(what string) text {
	t := labelText(64)
	t.what = "the name of " + what + ", " + t.what
	return t
}

// waiting is how long a ticket has waited.
var waiting = length{time.Millisecond, maxWait}

// ruleID is made once: a regular expression takes longer to compile than all else of a profile to read.
var ruleID = labelText(maxID)
