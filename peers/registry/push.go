package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

type descriptor struct {
	MediaType string            `json:"mediaType"`
	Digest    string            `json:"digest"`
	Size      int               `json:"size"`
	Platform  map[string]string `json:"platform,omitempty"`
}

type pusher struct {
	client   *http.Client
	user     string
	password string
}

// push puts an image behind every reference that is read from standard input, and prints the reference with the digest of
// its index. Behind a reference are the files of its layers, the lowest first, compressed by gzip.
func push(caFile, user, password string) error {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	p := &pusher{&http.Client{Transport: transport, Timeout: 30 * time.Second}, user, password}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		digest, err := p.image(words[0], words[1:])
		if err != nil {
			return fmt.Errorf("%s: %w", words[0], err)
		}
		fmt.Println(words[0], digest)
	}
	return lines.Err()
}

func describe(kind string, content []byte) descriptor {
	return descriptor{MediaType: kind, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(content)), Size: len(content)}
}

func (p *pusher) image(reference string, files []string) (string, error) {
	host, path, _ := strings.Cut(reference, "/")
	colon := strings.LastIndex(path, ":")
	if colon < 0 {
		return "", fmt.Errorf("no tag")
	}
	base := "https://" + host + "/v2/" + path[:colon]
	// The name is part of it, so that no two images are the same.
	config, err := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux", "rootfs": map[string]any{"type": "layers", "diff_ids": []string{}},
		"config": map[string]any{"Labels": map[string]string{"image": path}},
	})
	if err != nil {
		return "", err
	}
	if err := p.blob(base, config); err != nil {
		return "", err
	}
	layers := []descriptor{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if err := p.blob(base, content); err != nil {
			return "", err
		}
		layers = append(layers, describe(layerType, content))
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": describe(configType, config), "layers": layers,
	})
	if err != nil {
		return "", err
	}
	one := describe(manifestType, manifest)
	if err := p.put(base+"/manifests/"+one.Digest, manifestType, manifest); err != nil {
		return "", err
	}
	one.Platform = map[string]string{"architecture": "amd64", "os": "linux"}
	index, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": indexType, "manifests": []descriptor{one},
	})
	if err != nil {
		return "", err
	}
	return describe(indexType, index).Digest, p.put(base+"/manifests/"+path[colon+1:], indexType, index)
}

func (p *pusher) blob(base string, content []byte) error {
	response, err := p.send(http.MethodPost, base+"/blobs/uploads/", "", nil)
	if err != nil {
		return err
	}
	place, err := response.Location()
	if err != nil {
		return err
	}
	query := place.Query()
	query.Set("digest", describe("", content).Digest)
	place.RawQuery = query.Encode()
	return p.put(place.String(), "application/octet-stream", content)
}

func (p *pusher) put(place, kind string, content []byte) error {
	_, err := p.send(http.MethodPut, place, kind, content)
	return err
}

func (p *pusher) send(method, place, kind string, content []byte) (*http.Response, error) {
	target, err := url.Parse(place)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(method, target.String(), bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	if p.user != "" {
		request.SetBasicAuth(p.user, p.password)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if response.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, target.Path, response.Status, said)
	}
	return response, nil
}
