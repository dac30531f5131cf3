import streamlit as st

st.title("More")
