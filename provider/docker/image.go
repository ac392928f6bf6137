package docker

import (
	"regexp"
	"strings"
)

// imageOf returns the reference of an image.
func imageOf(app, version string) string {
	switch {
	case version == "":
		return app
	case strings.HasPrefix(version, "sha256:"):
		return app + "@" + version
	default:
		return app + ":" + version
	}
}

// reference has the characters of images' references, and none that a path would give another meaning.
var reference = regexp.MustCompile(`^[A-Za-z0-9]+([._/:@-]+[A-Za-z0-9]+)*$`)

// isAllowed reports whether the list has the image, or its repository.
func (p *Provider) isAllowed(image string) bool {
	// The image becomes a part of a path in Check.
	if !reference.MatchString(image) || strings.Contains(image, "..") {
		return false
	}
	// An entry without a tag allows all tags of its repository.
	for _, entry := range p.cfg.Images {
		if entry == image || entry == repositoryOf(image) {
			return true
		}
	}
	return false
}

// repositoryOf cuts the tag and the digest off. A colon before the last slash belongs to the port of a registry.
func repositoryOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if at := strings.LastIndexByte(image, ':'); at > strings.LastIndexByte(image, '/') {
		image = image[:at]
	}
	return image
}
