package token

import "strings"

// enrolmentPrefix begins the token of an enrolment, le1.<region>.<id>.<secret>, as ops.create_enrolment makes it.
const enrolmentPrefix = "le1."

// IsEnrolmentToken reports whether a text claims to be the token of an enrolment.
func IsEnrolmentToken(raw string) bool { return strings.HasPrefix(raw, enrolmentPrefix) }

// NamedRegion returns the region that a credential of a game server names, "" if it names none. It verifies nothing:
// the credential may be false, or be that of another cell.
func NamedRegion(raw string) string {
	for _, prefix := range [...]string{deploymentPrefix, instancePrefix, enrolmentPrefix} {
		if rest, found := strings.CutPrefix(raw, prefix); found {
			region, _, _ := strings.Cut(rest, ".")
			return region
		}
	}
	return ""
}
