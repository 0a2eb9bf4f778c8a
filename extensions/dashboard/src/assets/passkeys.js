// Passkeys: the browser asks the person's device, and the form carries its answer. Nothing else on these pages needs a script.
"use strict";

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
const base64url = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

// What a person is told, by the name of the browser's error.
const WORDS = {
  NotAllowedError: "No passkey was used: this was cancelled, took too long, or there is none for this service here.",
  InvalidStateError: "This device has a passkey for this key already.",
  SecurityError: "The browser allows no passkeys at this address.",
  NotSupportedError: "This device makes no passkeys of the kind that is needed.",
};

// A challenge as the browser takes it.
function asked({ publicKey }) {
  publicKey.challenge = bytes(publicKey.challenge);
  if (publicKey.user) publicKey.user.id = bytes(publicKey.user.id);
  for (const known of publicKey.excludeCredentials ?? []) known.id = bytes(known.id);
  return { publicKey };
}

// The device's answer as the service reads it.
function told({ id, rawId, type, response }) {
  const parts = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
  const given = parts.filter((part) => response[part]).map((part) => [part, base64url(response[part])]);
  return JSON.stringify({ id, rawId: base64url(rawId), type, response: Object.fromEntries(given) });
}

for (const form of document.querySelectorAll("form[data-challenge]")) {
  const said = form.querySelector("[role=alert]");
  const ask = async () => {
    if (form.getAttribute("aria-busy") === "true") return;
    form.setAttribute("aria-busy", "true");
    said.hidden = true;
    try {
      if (!navigator.credentials) throw new DOMException("", "SecurityError");
      const options = asked(JSON.parse(form.dataset.challenge));
      const makes = "user" in options.publicKey;
      form.elements.credential.value = told(await (makes ? navigator.credentials.create(options) : navigator.credentials.get(options)));
      form.submit();
    } catch (error) {
      said.textContent = WORDS[error.name] ?? `The browser could not do it: ${error.message}`;
      said.hidden = false;
      form.removeAttribute("aria-busy");
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  if ("atOnce" in form.dataset) ask();
}
