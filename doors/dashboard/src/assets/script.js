// Enhancements: times in the reader's zone, and a sign that a form is on its way. Every page works without them.
"use strict";

const two = (number) => String(number).padStart(2, "0");

for (const element of document.querySelectorAll("time[datetime]")) {
  const at = new Date(element.dateTime);
  if (Number.isNaN(at.getTime())) continue;
  const offset = -at.getTimezoneOffset();
  const hours = Math.trunc(Math.abs(offset) / 60);
  const zone = offset === 0 ? "UTC" : `${offset < 0 ? "-" : "+"}${two(hours)}${offset % 60 ? ":" + two(Math.abs(offset % 60)) : ""}`;
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  element.textContent = `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} ${zone}`;
}

for (const form of document.querySelectorAll("form[data-busy]")) {
  form.addEventListener("submit", (event) => {
    if (form.getAttribute("aria-busy") === "true") {
      event.preventDefault();
      return;
    }
    form.setAttribute("aria-busy", "true");
    const button = event.submitter ?? form.querySelector("button");
    if (button) button.textContent = form.dataset.busy;
  });
}

// Back to a page that was left while its form was on its way.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
