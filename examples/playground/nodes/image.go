package nodes

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// ImageID is what a simulated node reports once it has pulled an image: the
// repository and a digest, the same for the same repository and tag wherever it
// is asked. A reference that names a digest keeps it.
func ImageID(image string) string {
	repository, tag, digest := parts(image)
	if digest == "" {
		sum := sha256.Sum256([]byte(repository + ":" + tag))
		digest = "sha256:" + hex.EncodeToString(sum[:])
	}
	return repository + "@" + digest
}

// parts takes a reference apart. The colon of a registry's port is not a tag's.
func parts(image string) (repository, tag, digest string) {
	repository, digest, _ = strings.Cut(image, "@")
	tag = "latest"
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository, tag = repository[:colon], repository[colon+1:]
	}
	return repository, tag, digest
}

// tagged tells whether the tag is word, or begins with it and a dash.
func tagged(image, word string) bool {
	_, tag, _ := parts(image)
	return tag == word || strings.HasPrefix(tag, word+"-")
}
