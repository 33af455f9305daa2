package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

// identity is the certificate chain of one run: a CA that exists only in this
// process, and the leaf the server shows.
type identity struct {
	config *tls.Config
	caPEM  []byte
	leaf   *x509.Certificate
}

func newIdentity(names []string, notAfter time.Time) (*identity, error) {
	now := time.Now()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: "vcsim test CA", Organization: []string{"vcsim"}},
		NotBefore:             now.Add(-48 * time.Hour),
		NotAfter:              now.Add(10 * 365 * 24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	if ca, err = x509.ParseCertificate(caDER); err != nil {
		return nil, err
	}

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if notAfter.IsZero() {
		notAfter = now.Add(365 * 24 * time.Hour)
	}
	// An expired certificate must once have been valid, else clients report
	// "not yet valid" or a malformed validity instead of "expired".
	notBefore := now.Add(-24 * time.Hour)
	if notAfter.Before(now) {
		notBefore = notAfter.Add(-24 * time.Hour)
	}
	leaf := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: "localhost", Organization: []string{"vcsim"}},
		NotBefore:    notBefore,
		NotAfter:     notAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	if leaf, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return &identity{
		config: &tls.Config{
			MinVersion: tls.VersionTLS12,
			Certificates: []tls.Certificate{{
				Certificate: [][]byte{der, caDER},
				PrivateKey:  key,
				Leaf:        leaf,
			}},
		},
		caPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
		leaf:  leaf,
	}, nil
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // the system has no randomness: nothing sensible to do
	}
	return n
}

// Thumbprints are written as vSphere writes them: upper case, colons.
func (id *identity) sha1() string {
	sum := sha1.Sum(id.leaf.Raw)
	return colons(sum[:])
}

func (id *identity) sha256() string {
	sum := sha256.Sum256(id.leaf.Raw)
	return colons(sum[:])
}

func colons(sum []byte) string {
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}
