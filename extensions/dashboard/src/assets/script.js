// Enhancements: times as what has passed since, or is left until then, a sign that a form is being sent, and
// buttons that copy. Every page works without them.
"use strict";

const two = (number) => String(number).padStart(2, "0");

// 2026-11-22 21:30:37 +01, in the reader's zone.
function exact(at) {
  const offset = -at.getTimezoneOffset();
  const hours = Math.trunc(Math.abs(offset) / 60);
  const zone = offset === 0 ? "UTC" : `${offset < 0 ? "-" : "+"}${two(hours)}${offset % 60 ? ":" + two(Math.abs(offset % 60)) : ""}`;
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} ${zone}`;
}

// 3 min ago, in 2 h; of what is further away the day.
function relative(at) {
  const seconds = Math.round((at - Date.now()) / 1000);
  const away = Math.abs(seconds);
  if (away < 45) return seconds > 0 ? "in a moment" : "just now";
  if (away >= 30 * 86_400) return exact(at).slice(0, 10);
  const [count, unit] = away < 3_570 ? [away / 60, "min"] : away < 129_600 ? [away / 3_600, "h"] : [away / 86_400, "days"];
  return seconds > 0 ? `in ${Math.round(count)} ${unit}` : `${Math.round(count)} ${unit} ago`;
}

const times = [...document.querySelectorAll("time[datetime]")].map((element) => [element, new Date(element.dateTime)]);
for (const [element, at] of times) {
  if (Number.isNaN(at.getTime())) continue;
  const utc = element.title;
  const local = exact(at);
  element.title = element.className === "exact" ? `${relative(at)}: ${utc}` : local.endsWith("UTC") ? utc : `${local}, ${utc}`;
  element.textContent = element.className === "exact" ? local : relative(at);
}
setInterval(() => {
  for (const [element, at] of times) {
    if (element.className !== "exact" && !Number.isNaN(at.getTime())) element.textContent = relative(at);
  }
}, 30_000);

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

// Commands with a button that copies them, where the browser lets a page do that.
for (const command of navigator.clipboard ? document.querySelectorAll("pre[data-copy]") : []) {
  const text = command.textContent;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  });
  command.append(button);
}

// On a narrow screen the navigation scrolls: to where one is.
const here = document.querySelector(".bar nav [aria-current=page]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 40;

// A list that does not count is not filled in.
for (const list of document.querySelectorAll("textarea[data-only]")) {
  const choices = list.form.querySelectorAll(`[name=${list.dataset.only}]`);
  const follow = () => { list.disabled = ![...choices].some((one) => one.checked && one.value === "only"); };
  choices.forEach((one) => one.addEventListener("change", follow));
  follow();
}

// Back to a page that was left while its form was on its way.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
