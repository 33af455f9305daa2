package main

import (
	"bytes"
	"encoding/json"
	stdxml "encoding/xml"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// soapHead is what the wrapper needs of a request without knowing its type:
// the services next to vim25 (policies, volumes, SSO) have other types.
type soapHead struct {
	method  string
	this    ref
	session string // the SOAP header form of the session cookie
}

// scanSOAP reads an envelope up to the _this argument and no further.
func scanSOAP(body []byte) soapHead {
	var head soapHead
	dec := stdxml.NewDecoder(bytes.NewReader(body))
	inBody := false
	for {
		tok, err := dec.Token()
		if err != nil {
			return head
		}
		start, ok := tok.(stdxml.StartElement)
		if !ok {
			continue
		}
		switch {
		case !inBody && start.Name.Local == "vcSessionCookie":
			_ = dec.DecodeElement(&head.session, &start)
		case !inBody && start.Name.Local == "Body":
			inBody = true
		case inBody && head.method == "":
			head.method = start.Name.Local
		case inBody && start.Name.Local == "_this":
			for _, a := range start.Attr {
				if a.Name.Local == "type" {
					head.this.Type = a.Value
				}
			}
			_ = dec.DecodeElement(&head.this.Value, &start)
			return head
		case inBody:
			return head // _this is always the first argument
		}
	}
}

const (
	envelopeOpen = xml.Header + `<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"` +
		` xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/" xmlns:xsd="http://www.w3.org/2001/XMLSchema"` +
		` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>`
	envelopeClose = `</soapenv:Body></soapenv:Envelope>`
)

// faultEnvelope renders a fault as vCenter does: the element is named after
// the fault's type, which is also its xsi:type.
func faultEnvelope(fault types.BaseMethodFault, message string) []byte {
	kind := reflect.TypeOf(fault).Elem().Name()
	if message == "" {
		message = faultMessage(kind)
	}
	var out bytes.Buffer
	out.WriteString(envelopeOpen + "<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>")
	_ = stdxml.EscapeText(&out, []byte(message))
	out.WriteString("</faultstring><detail>")
	enc := xml.NewEncoder(&out)
	err := enc.EncodeElement(fault, xml.StartElement{
		Name: xml.Name{Local: kind + "Fault"},
		Attr: []xml.Attr{
			{Name: xml.Name{Local: "xmlns"}, Value: "urn:vim25"},
			{Name: xml.Name{Local: "xsi:type"}, Value: kind},
		},
	})
	if err == nil {
		err = enc.Flush()
	}
	if err != nil {
		fmt.Fprintf(&out, `<%[1]sFault xmlns="urn:vim25" xsi:type="%[1]s"></%[1]sFault>`, kind)
	}
	out.WriteString("</detail></soapenv:Fault>" + envelopeClose)
	return out.Bytes()
}

// emptyResponse answers a method that returns nothing; taskResponse one that
// returns a task.
func emptyResponse(method string) []byte {
	return []byte(envelopeOpen + `<` + method + `Response xmlns="urn:vim25"></` + method + `Response>` + envelopeClose)
}

func taskResponse(method string, task ref) []byte {
	return []byte(envelopeOpen + `<` + method + `Response xmlns="urn:vim25"><returnval type="Task">` +
		task.Value + `</returnval></` + method + `Response>` + envelopeClose)
}

var (
	faultType  = regexp.MustCompile(`<detail>\s*<[^>]*xsi:type="(?:[\w]+:)?(\w+)"`)
	taskReturn = regexp.MustCompile(`<returnval type="Task">([^<]+)</returnval>`)
)

// emptyMessage is how the simulator leaves most fault messages.
var emptyMessage = []byte("<faultstring></faultstring>")

func faultOf(response []byte) string {
	if m := faultType.FindSubmatch(response); m != nil {
		return string(m[1])
	}
	return ""
}

// faultMessage is vCenter's text for the faults a client meets most.
func faultMessage(kind string) string {
	switch kind {
	case "InvalidLogin":
		return "Cannot complete login due to an incorrect user name or password."
	case "PasswordExpired":
		return "The password of the user has expired."
	case "NotAuthenticated":
		return "The session is not authenticated."
	case "NoPermission":
		return "Permission to perform this operation was denied."
	case "ManagedObjectNotFound":
		return "The object has already been deleted or has not been completely created"
	case "DuplicateName":
		return "The name already exists."
	case "InvalidPowerState":
		return "The attempted operation cannot be performed in the current state."
	}
	return "Fault " + kind + "."
}

var vimType = types.TypeFunc()

// newFault makes a fault by its type name and fills its fields, which are
// spelt as in the vSphere API ("privilegeId").
func newFault(kind string, fields map[string]json.RawMessage) (types.BaseMethodFault, error) {
	t, ok := vimType(kind)
	if !ok || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("no fault type %q", kind)
	}
	fault, ok := reflect.New(t).Interface().(types.BaseMethodFault)
	if !ok {
		return nil, fmt.Errorf("%q is not a fault", kind)
	}
	if len(fields) > 0 {
		data, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		if err := decodeStrict(bytes.NewReader(data), fault); err != nil {
			return nil, fmt.Errorf("fault %s: %w", kind, err)
		}
	}
	return fault, nil
}

// hide takes a property out of a reply, as if it were not set.
func hide(response []byte, property string) []byte {
	set := regexp.MustCompile(`(?s)<propSet><name>` + regexp.QuoteMeta(property) + `</name>.*?</propSet>`)
	return set.ReplaceAll(response, nil)
}

// lowerFirst: method names in task descriptions start in lower case.
func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
