package cluster

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// mask stands for the values of Secrets: equal values have equal masks, within
// one process, and a mask says nothing about its value.
type mask struct{ key []byte }

func newMask() mask {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return mask{key: key}
}

// hide puts masks in the place of a Secret's values. Other objects stay as they are.
func (m mask) hide(object *unstructured.Unstructured) {
	if object.GetAPIVersion() != "v1" || object.GetKind() != "Secret" {
		return
	}
	for _, field := range []string{"data", "stringData"} {
		values, _ := object.Object[field].(map[string]any)
		for key, value := range values {
			hash := hmac.New(sha256.New, m.key)
			_, _ = fmt.Fprint(hash, value) // a hash takes everything
			values[key] = "masked:" + hex.EncodeToString(hash.Sum(nil)[:8])
		}
	}
}
