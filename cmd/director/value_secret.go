package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/server/orchestrator"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// secretsValue is several secrets at a time, so that one can be replaced while both are accepted.
func secretsValue(p *[]string) value {
	v := value{kindName: "secret", allowedText: fmt.Sprintf("%d characters or more, several comma-separated",
		shortestSecret)}
	v.showText = func() string { return maskedSecrets(len(*p)) }
	return v.checkedItems(p, func(secret string) bool { return len(secret) >= shortestSecret }).notEmpty(p)
}

// agentKeysValue are secrets that agents send as a subprotocol of a WebSocket, which must be an HTTP token.
func agentKeysValue(p *[]string) value {
	v := secretsValue(p)
	v.allowedText = fmt.Sprintf("%d characters or more that an HTTP token may have, such as letters, digits, - and _; "+
		"several comma-separated", shortestSecret)
	return v.checkedItems(p, func(key string) bool { return orchestrator.ValidKey(key) == nil }).notEmpty(p)
}

// maskedSecrets shows how many secrets are set, so that an operator sees whether a rotation has begun, and not how long
// they are.
func maskedSecrets(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return mask
	default:
		return fmt.Sprintf("%s (%d of them)", mask, n)
	}
}

// keksValue refuses keys of another length at the start: nothing could be sealed with them.
func keksValue(p *[][]byte) value {
	v := value{kindName: "secret", allowedText: fmt.Sprintf("%d bytes in base64, several comma-separated",
		token.KEKBytes)}
	v.showText = func() string { return maskedSecrets(len(*p)) }
	v.setText = func(text string) (err error) {
		*p, err = token.ParseKEKs(text)
		return v.requireAllowed(err == nil)
	}
	return v
}

// databaseURLValue is parsed here, so that a mistake is found before anything starts. The error of pgx is replaced,
// because it repeats the URL.
func databaseURLValue(p *string) value {
	v := checkedText(p, "url", "postgres://user:password@host:port/database, or key=value", func(text string) bool {
		_, err := pgx.ParseConfig(text)
		return err == nil
	})
	v.showText = func() string { return withoutPassword(*p) }
	return v
}

// passwordWord matches the password of a key=value string, quoted or not, also within a URL's query.
var passwordWord = regexp.MustCompile(`(?i)(password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)`)

// withoutPassword is a database's address for logs and questions, in both forms that it may have.
func withoutPassword(text string) string {
	return passwordWord.ReplaceAllString(redactURL(text), "${1}xxxxx")
}

// keySetValue shows JSON only by its size: it is long, and may contain private keys by mistake.
func keySetValue(p *string) value {
	v := textValue(p, "a JWKS as JSON, a file, or an https URL")
	v.showText = func() string {
		if strings.HasPrefix(strings.TrimSpace(*p), "{") {
			return fmt.Sprintf("JSON of %d bytes", len(*p))
		}
		return redactURL(*p)
	}
	return v
}

// hiddenTextValue is a secret that another system made, of any length.
func hiddenTextValue(p *string) value {
	v := textValue(p, "text")
	v.kindName, v.showText = "secret", func() string { return maskedSecrets(min(1, len(*p))) }
	return v
}

// namedRole matches a token of an operator with a name and a role, also an unknown role: without this check,
// NAME:admin=… would be taken for a secret as a whole.
var namedRole = regexp.MustCompile(`^[a-z0-9-]{1,32}:([a-z]*)=(.*)$`)

// operatorRoles are the roles of tokens; one without a role is an operator.
var operatorRoles = []string{"viewer", "operator"}

// operatorTokensValue are secrets that may have a name and a role.
func operatorTokensValue(p *[]string) value {
	v := secretsValue(p)
	v.allowedText = fmt.Sprintf("SECRET, NAME=SECRET, NAME:viewer=SECRET or NAME:operator=SECRET, with secrets of %d "+
		"characters or more and names of a-z, 0-9 and -; several comma-separated", shortestSecret)
	set := v.setText
	v.setText = func(text string) error {
		if err := set(text); err != nil {
			// Not the error of set, which names only what secretsValue allows.
			return v.requireAllowed(false)
		}
		for _, one := range *p {
			if named := namedRole.FindStringSubmatch(one); len(named) > 0 &&
				(!slices.Contains(operatorRoles, named[1]) || len(named[2]) < shortestSecret) {
				return v.requireAllowed(false)
			}
		}
		return nil
	}
	return v
}

// backendTokensValue are secrets with names and scopes.
func backendTokensValue(p *[]string) value {
	v := value{kindName: "secret", allowedText: fmt.Sprintf("NAME=SECRET or NAME:SCOPES=SECRET, with the scopes players, "+
		"tickets or players+tickets, secrets of %d characters or more and names of a-z, 0-9 and -; several "+
		"comma-separated", shortestSecret)}
	v.showText = func() string { return maskedSecrets(len(*p)) }
	v.setText = func(text string) error {
		*p = splitList(text)
		_, err := rest.ParseBackendTokens(*p)
		return v.requireAllowed(err == nil && len(*p) > 0)
	}
	return v
}

// secretValue is a secret of this side, of which there is only one at a time.
func secretValue(p *string) value {
	v := checkedText(p, "secret", fmt.Sprintf("%d characters or more", shortestSecret),
		func(text string) bool { return len(text) >= shortestSecret })
	v.showText = func() string { return maskedSecrets(min(1, len(*p))) }
	return v
}

// signingSecretValue is a secret with which other programs sign as well. White space around it is refused: those
// programs may have read the same file with its line break as a part of the secret, and without it no token would
// verify.
func signingSecretValue(p *string) value {
	v := secretValue(p)
	v.keepsSpace = true
	set := v.setText
	v.setText = func(text string) error {
		if text != strings.TrimSpace(text) {
			return errAroundSecret
		}
		return set(text)
	}
	return v
}

// errAroundSecret does not quote the secret, whose error goes to the log.
var errAroundSecret = errors.New("it begins or ends with white space, such as the line break of a file: remove it " +
	"there, and wherever else the secret is used")

// projectSecretsValue is JSON, as NEXIS_PROJECT_SECRETS is.
func projectSecretsValue(p *map[string]string) value {
	v := value{kindName: "secret", allowedText: fmt.Sprintf("a JSON object of projects and their secrets, of %d characters "+
		"or more", shortestSecret)}
	v.showText = func() string { return maskedSecrets(len(*p)) }
	v.setText = func(text string) error {
		// Unmarshal would add the projects to a map that is there.
		*p = nil
		err := json.Unmarshal([]byte(text), p)
		for project, secret := range *p {
			if secret != strings.TrimSpace(secret) {
				return errAroundSecret
			}
			if len(secret) < shortestSecret || !token.ValidProjectName(project) {
				return v.requireAllowed(false)
			}
		}
		return v.requireAllowed(err == nil)
	}
	return v
}

// apiKeyValue is a single secret of another system, which is sent in a header: it must be printable.
func apiKeyValue(p *provider.Secret) value {
	v := value{kindName: "secret", allowedText: fmt.Sprintf("%d printable characters or more", shortestSecret)}
	v.showText = func() string { return maskedSecrets(min(len(*p), 1)) }
	v.setText = func(text string) error {
		*p = provider.Secret(text)
		return v.requireAllowed(len(text) >= shortestSecret &&
			!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }))
	}
	return v
}
