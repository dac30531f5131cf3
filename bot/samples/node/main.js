const items = ["apples", "bread", "milk"];

document.querySelector("#basket").textContent = `Today we have ${items.join(", ")}.`;
