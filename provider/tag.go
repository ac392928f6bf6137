package provider

import (
	"crypto/rand"
	"fmt"
	"strings"
)

// Tag is the director's own name of a deployment, known before the provider has answered. It is 1 to [MaxTagBytes] of
// [a-z0-9-], and begins and ends with a letter or digit, so that it fits every provider's tags, labels and names.
type Tag string

// Owner is a tag that all deployments of one installation have, and no others: what has it and is unknown is a
// leftover.
type Owner string

// Ref is a provider's own name of a deployment, 1 to [MaxRefBytes] bytes. It is known after Deploy, and not before.
type Ref string

// MaxTagBytes bounds tags and owners: the shortest bound that providers are known to have.
const MaxTagBytes = 20

// ownerPrefix keeps owners apart from tags that people chose.
const ownerPrefix = "ld-"

// NewTag returns a random tag of MaxTagBytes letters and digits, 100 bits. It is unique without a look at others.
func NewTag() Tag { return Tag(strings.ToLower(rand.Text()[:MaxTagBytes])) }

// OwnerOf returns the owner of an installation of this name: 1 to 17 of [a-z0-9-]. Two installations that share an
// account of a provider need different names: each one stops what it does not know.
func OwnerOf(name string) (Owner, error) {
	owner := Owner(ownerPrefix + name)
	if name == "" || !validTag(string(owner)) {
		return "", fmt.Errorf("owner %.40q: must be 1 to %d of a-z, 0-9 and -, and end with a letter or digit", name,
			MaxTagBytes-len(ownerPrefix))
	}
	return owner, nil
}

// Valid reports whether the tag has the form of a tag.
func (t Tag) Valid() bool { return validTag(string(t)) }

// Valid reports whether the owner has the form of one.
func (o Owner) Valid() bool { return strings.HasPrefix(string(o), ownerPrefix) && validTag(string(o)) }

func validTag(s string) bool {
	return s != "" && len(s) <= MaxTagBytes && isPlain(s) && s[0] != '-' && s[len(s)-1] != '-'
}

// isPlain reports whether s has only the characters that all providers allow in names.
func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') &&
			(r < 'a' || r > 'z')
	})
}
